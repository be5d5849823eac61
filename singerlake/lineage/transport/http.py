"""To a backend over HTTP: Marquez, DataHub, OpenMetadata, another proxy."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from singerlake.errors import NoAnswer
from singerlake.http.address import Address, checked, origin
from singerlake.http.client import Client, ClientOptions
from singerlake.lineage.transport.base import Answer
from singerlake.runtime import REAL, Runtime

ENDPOINT = "/api/v1/lineage"
REFUSALS = frozenset({400, 413, 422})
"""What will be refused again. All else may pass: even 401 and 404 are mended at the backend."""

MOST_AFTER_SECONDS = 3600.0
REASON = 300
SHORTEST = 8
"""A path of fewer characters is no secret, and may be a word of the answer."""


class HttpTransport:
    batch = 1

    def __init__(
        self,
        url: str,
        key: str | None = None,
        options: ClientOptions | None = None,
        lanes: int = 1,
        runtime: Runtime = REAL,
    ) -> None:
        """An address without a path gets OpenLineage's own. Raises `ConfigError`."""
        address = checked(url)
        self.name, self.lanes = name_of(url), lanes
        # Never urljoin: a backend's own path, such as DataHub's, would be lost.
        self._url = url if (address.path or "/") != "/" else url.rstrip("/") + ENDPOINT
        self._client = Client(options, runtime)
        self._secrets = _secrets(key, address)
        self._headers: dict[str, str] = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._runtime = runtime

    def send(self, events: Sequence[bytes]) -> Answer:
        try:
            answer = self._client.post(self._url, events[0], self._headers)
        except NoAnswer as error:
            return Answer(0, str(error))
        if 200 <= answer.status < 300:
            return Answer(1)
        reason = f"HTTP {answer.status}{self._text(answer.body)}"
        if answer.status in REFUSALS:
            return Answer(0, reason, refused=True, status=answer.status)
        after = retry_after(answer.headers, self._runtime.now())
        return Answer(0, reason, status=answer.status, after=after)

    def _text(self, body: bytes) -> str:
        """What the backend says, on one line, without our own secrets."""
        text = " ".join(body[: 4 * REASON].decode("utf-8", "replace").split())
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = "".join(one for one in text if one.isprintable())[:REASON]
        return f": {text}" if text else ""

    def close(self) -> None:
        self._client.close()


def _secrets(key: str | None, address: Address) -> list[str]:
    """What an answer may echo of a request and nobody should read, the longest first: the key, the
    password, and the path and the query, where the user gave them."""
    user, _, password = address.auth.partition(":")
    encoded = b64encode(address.auth.encode()).decode()
    places = [address.path.strip("/"), address.query]
    long = (one for one in places if len(one) >= SHORTEST)
    found = {key, address.auth, password, encoded, *long} - {None, "", user}
    return sorted(map(str, found), key=len, reverse=True)


def name_of(url: str) -> str:
    """Host and port; of a path only a few digits of its hash, as a path may be a secret."""
    address = checked(url)
    path = address.path or "/"
    digits = "" if path == "/" else f"/{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    return f"{origin(address)}{digits}"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that an answer asks for, as a number or as a date; at most an hour."""
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    if re.fullmatch(r"\d{1,9}", text.strip()):
        return min(float(text), MOST_AFTER_SECONDS)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return min(max(0.0, (date - now).total_seconds()), MOST_AFTER_SECONDS)
