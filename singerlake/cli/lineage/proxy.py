"""`singerlake lineage proxy`: the service itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from singerlake.cli.extra import extra_module
from singerlake.cli.lineage.options import PACKAGES, data_option, lineage_module
from singerlake.cli.lineage.proxy_options import (
    LIMITS,
    limit_options,
    pairs,
    reach_options,
    validation_options,
)
from singerlake.cli.service import ServiceOptions, listen_options, service_command
from singerlake.errors import ConfigError
from singerlake.metrics import Metrics

KEYS = ("SINGERLAKE_LINEAGE_API_KEY", "OPENLINEAGE_API_KEY")
"""Variables that may hold the backend's API key."""


@service_command("LINEAGE")
@listen_options("127.0.0.1:8080")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    required=True,
    envvar="SINGERLAKE_LINEAGE_BACKEND",
    metavar="URL",
    help="Where events go: http://HOST:PORT, https://HOST/PATH, kafka://SERVER:PORT/TOPIC or "
    "file:PATH. Repeatable: each backend gets all events, at its own pace.",
)
@data_option
@click.option(
    "--order",
    type=click.Choice(["global", "run"]),
    default="global",
    show_default=True,
    help="What keeps its order: all events, or those of one root run; other runs go beside them.",
)
@click.option(
    "--lanes",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    metavar="N",
    help="How many events go to an HTTP backend at once with --order run.",
)
@reach_options
@limit_options
@validation_options
@click.option(
    "--status",
    "accepted",
    envvar="SINGERLAKE_LINEAGE_STATUS",
    type=click.Choice(["200", "201"]),
    default="200",
    show_default=True,
    help="What a sender gets for an event that is safe.",
)
def proxy(service: ServiceOptions, folder: Path, accepted: str, **given: Any) -> None:
    """Take events, keep them, send them on.

    POST /api/v1/lineage answers once the event is on the disk, whatever state the backends are in.
    Events go to each backend in the order received, and are sent again until the backend has them.
    An event may arrive twice after a crash; none is left out. GET /healthz, /readyz and /metrics
    say how the proxy fares.

    Events that break the OpenLineage spec get 400, and go to the handler of failed events. What a
    backend refuses for good (400, 413, 422) goes to the dead letters: `lineage dead list`.

    \b
    Examples:
      singerlake lineage proxy --backend http://marquez:5000 --data /var/lib/lineage
      singerlake lineage proxy --backend http://a:5000 --backend kafka://k:9092/lineage --data ./d
      singerlake lineage proxy --config proxy.json --listen 127.0.0.1:0 --json
    """
    limits = {name: given.pop(name) for name in LIMITS}
    metrics = Metrics.create()
    _make(folder)
    kit = lineage_module("proxy.proxy")
    running = kit.Proxy(
        kit.Settings(
            folder,
            lineage_module("buffer.limits").Limits(**limits),
            given["order"],
            int(accepted),
        ),
        _transports(given),
        lineage_module("schema.open").open_validator(given["spec_dir"], _groups(given["facets"])),
        lineage_module("proxy.failed").open_handler(given["failed"], folder),
        metrics,
        service.limits,
    )
    try:
        with service.pushing(metrics):
            service.run(_service(running, service, metrics))
    finally:
        running.close()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: expected a folder for --data: {error.strerror}") from None


def _service(running: Any, service: ServiceOptions, metrics: Metrics) -> Any:
    kit = extra_module("http.service", "http", PACKAGES)
    return kit.Service(
        running.app, service.limits, token=service.token, metrics=metrics, ready=running.ready
    )


def _transports(given: dict[str, Any]) -> list[Any]:
    kit = lineage_module("transport.open")
    client = extra_module("http.client", "http", PACKAGES)
    reach = kit.Reach(
        _key(given["api_key_file"]),
        client.ClientOptions(
            connections=given["lanes"],
            read_seconds=given["send_seconds"],
            total_seconds=2 * given["send_seconds"],
            ca=given["ca"],
            certificate=given["client_certificate"],
            key=given["client_key"],
        ),
        pairs(given["kafka"]),
        given["lanes"] if given["order"] == "run" else 1,
    )
    return [kit.open_transport(backend, reach) for backend in given["backends"]]


def _key(file: Path | None) -> str | None:
    """The backend's API key; an error names the file, never what is in it."""
    if file is not None:
        try:
            return file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: expected the backend's API key: {error}") from None
    for variable in KEYS:
        if os.environ.get(variable):
            return os.environ[variable].strip()
    return None


def _groups(facets: tuple[str, ...]) -> tuple[str, ...]:
    return () if facets == ("none",) else facets
