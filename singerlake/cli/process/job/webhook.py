"""The webhook job: an event as a POST."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

from singerlake.cli.process.job.command import line_of
from singerlake.errors import ConfigError, Later, Unavailable
from singerlake.processor import Event

ANSWER_WITHIN = 30.0
PUT_BACK = 60.0
_BUSY = (429, 503)


def webhook(url: str) -> Callable[[Event], None]:
    """Posts an event as JSON: an answer of 2xx is done, 429 and 503 later, anything else a failed
    attempt. The headers have what a receiver needs to recognise an event that comes again."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"--job webhook: expected webhook:https://HOST/…, found {url!r}")
    shown = f"{parts.scheme}://{parts.hostname}{parts.path}"

    def post(event: Event) -> None:
        headers = {
            "Content-Type": "application/json",
            "Singerlake-Key": event.key.encode("ascii", "backslashreplace").decode(),
            "Singerlake-Position": str(event.position),
            "Singerlake-Token": str(event.token),
        }
        request = urllib.request.Request(url, line_of(event), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_WITHIN) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _BUSY:
                    after = error.headers.get("Retry-After", "")
                    raise Later(float(after) if after.isdigit() else PUT_BACK) from None
            raise Unavailable(f"{shown} answered {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{shown}: {error}") from None

    return post
