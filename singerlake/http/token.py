"""The bearer token of a service: read once, compared in constant time, never shown."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from singerlake.errors import ConfigError
from singerlake.http.answer import Header, Problem


class Token:
    """Compares, and tells nobody."""

    def __init__(self, text: str) -> None:
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ConfigError("a token is printable ASCII without blanks, and not empty")
        self._expected = b"Bearer " + text.encode()

    def __repr__(self) -> str:
        return "Token(…)"

    def require(self, headers: Iterable[Header]) -> None:
        """Raises `Problem` 401 where the headers do not bear the token."""
        given = next((value for name, value in headers if name == b"authorization"), b"")
        scheme, _, rest = given.partition(b" ")
        if scheme.lower() == b"bearer":
            given = b"Bearer " + rest.strip()
        if not hmac.compare_digest(given, self._expected):
            raise Problem(
                401,
                "Unauthorized",
                "expected the header `Authorization: Bearer TOKEN` with the token of this service",
                [(b"www-authenticate", b"Bearer")],
            )


def read_token(
    file: Path | None, variable: str, environment: Mapping[str, str] = os.environ
) -> Token | None:
    """The token in a file, or else in a variable of the environment; None without both.

    Raises `ConfigError`, which quotes neither.
    """
    if file is not None:
        try:
            return Token(file.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(f"{file}: expected a token, and cannot read it: {reason}") from None
    text = environment.get(variable, "").strip()
    return Token(text) if text else None
