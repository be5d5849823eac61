"""Where events go: the setting `lineage`, and the variables of OpenLineage's own clients."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from singerlake.errors import ConfigError
from singerlake.lineage.event.name import host_of

ENDPOINT = "api/v1/lineage"
LAKE = "lake"
"""The setting that sends nothing, and only notes in the lake document what was made of a stream."""

OFF = frozenset({"off", "none", "false"})
SECONDS = 5.0


@dataclass(frozen=True)
class Destination:
    """An HTTP receiver; a `file` of JSON lines; or neither, where only the lake is told.

    The key is never shown.
    """

    url: str = ""
    file: str = ""
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS
    ca: Path | None = None

    @property
    def sends(self) -> bool:
        return bool(self.url or self.file)

    def __str__(self) -> str:
        """For the log: no password, no path that may hold a token."""
        return host_of(self.url) if self.url else self.file or "the lake document"


def find(setting: str = "", environment: Mapping[str, str] | None = None) -> Destination | None:
    """The destination, or None where lineage is off. Raises `ConfigError`.

    The setting counts before `OPENLINEAGE_CONFIG`, and that before `OPENLINEAGE_URL`.
    """
    found = os.environ if environment is None else environment
    if found.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    if setting.strip().lower() in OFF:
        return None
    if setting == LAKE:
        return Destination()
    if setting:
        return _of_url(setting, found) if "://" in setting else _of_file(setting)
    if config := found.get("OPENLINEAGE_CONFIG"):
        return _of_file(config)
    if url := found.get("OPENLINEAGE_URL"):
        return _of_url(url, found)
    return None


def _of_url(url: str, environment: Mapping[str, str]) -> Destination:
    endpoint = environment.get("OPENLINEAGE_ENDPOINT") or ENDPOINT
    key = environment.get("OPENLINEAGE_API_KEY", "").strip()
    return Destination(_joined(url, endpoint), api_key=key)


def _joined(url: str, endpoint: str) -> str:
    """Never by `urljoin`, which would drop the path of a receiver that has one."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(
            "lineage goes to an address such as http://127.0.0.1:8080: the one that is set has "
            "no http:// or https://, no host, or a port that is none"
        )
    return f"{url.rstrip('/')}/{endpoint.strip('/')}"


def _of_file(path: str) -> Destination | None:
    """The `transport` of an openlineage.yml."""
    import yaml  # type: ignore[import-untyped]  # comes with the Singer SDK; slow, and few have such a file

    try:
        content = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(
            f"{path}, which says where lineage goes, cannot be read as YAML "
            f"({type(error).__name__}): expected `transport: {{type: http, url: …}}`"
        ) from None
    transport = content.get("transport") if isinstance(content, dict) else None
    if not isinstance(transport, dict):
        raise ConfigError(
            f"{path}: expected `transport: {{type: http, url: …}}`, found no transport"
        )
    return _of_transport(path, transport)


def _of_transport(path: str, transport: Mapping[str, Any]) -> Destination | None:
    kind = transport.get("type", "http")
    if kind == "noop":
        return None
    if kind == "file" and transport.get("log_file_path"):
        return Destination(file=str(transport["log_file_path"]))
    if kind not in ("http", "async_http") or not isinstance(transport.get("url"), str):
        raise ConfigError(
            f"{path}: expected a transport of the type http, with its url, or of the type file, "
            f"with log_file_path, found the type {str(kind)[:40]!r}; `singerlake lineage proxy` "
            "sends events on to other places"
        )
    auth = transport.get("auth")
    key = (auth.get("apiKey") or auth.get("api_key") or "") if isinstance(auth, dict) else ""
    headers = transport.get("custom_headers")
    return Destination(
        _joined(transport["url"], str(transport.get("endpoint") or ENDPOINT)),
        api_key=str(key).strip(),
        headers={str(k): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {},
        seconds=_seconds(path, transport.get("timeout", SECONDS)),
        ca=_certificates(path, transport.get("verify", True)),
    )


def _certificates(path: str, verify: Any) -> Path | None:
    """A file of certificates to trust, None for the system's."""
    if isinstance(verify, str):
        return Path(verify)
    if verify is not True:
        raise ConfigError(
            f"{path}: expected `verify: true`, or the file of a certificate to trust, found "
            f"{verify!r}; events and keys are not sent to a host that nobody vouches for"
        )
    return None


def _seconds(path: str, value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds < 3600:
        raise ConfigError(f"{path}: expected a timeout in seconds, more than 0, found {value!r}")
    return seconds
