"""The webhook job: an event as a POST."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from singerlake.cli.process.job.command import line_of
from singerlake.errors import ConfigError, Later, Unavailable
from singerlake.http.address import checked, shown
from singerlake.http.client import Client
from singerlake.processor import Event

PUT_BACK = 60.0
MOST = 3600.0
_BUSY = (429, 503)


def webhook(url: str) -> Callable[[Event], None]:
    """Posts an event as JSON: an answer of 2xx is done, 429 and 503 later, anything else a failed
    attempt, a redirect too: followed, it would be a GET, and the event would be gone. The headers
    have what a receiver needs to recognise an event that comes again."""
    try:
        address = checked(url)
    except ConfigError as error:
        raise ConfigError(f"--job webhook: expected webhook:https://HOST/…; {error}") from None
    client = Client()

    def post(event: Event) -> None:
        headers = {
            "Content-Type": "application/json",
            "Singerlake-Key": event.key.encode("ascii", "backslashreplace").decode(),
            "Singerlake-Position": str(event.position),
            "Singerlake-Token": str(event.token),
        }
        answer = client.post(url, line_of(event), headers)
        if answer.status in _BUSY:
            raise Later(_seconds(answer.headers))
        if not 200 <= answer.status < 300:
            raise Unavailable(f"{shown(address)} answered {answer.status}")

    return post


def _seconds(headers: Mapping[str, str]) -> float:
    """What a busy receiver asks for, at most an hour."""
    after = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    return min(float(after), MOST) if re.fullmatch(r"[0-9]{1,9}", after.strip()) else PUT_BACK
