"""Streams that a command failed for, while it went on with the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from singerlake.cli.console import complain
from singerlake.errors import SingerlakeError


class Failures:
    """What failed, by stream; `rows` are for scripts."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str | None]] = []
        self._errors: list[SingerlakeError] = []

    @contextmanager
    def collected(self, tap_id: str, stream: str | None) -> Iterator[None]:
        """Around the work on a stream: one that fails keeps no other from its turn.

        Without a stream it is the tap whose streams could not be told.
        """
        try:
            yield
        except SingerlakeError as error:
            self._errors.append(error)
            self.rows.append(
                {"tap_id": tap_id, "stream": stream, "status": "failed", "error": str(error)}
            )

    def tell_new(self, told: set[str]) -> set[str]:
        """Tell of what was not `told` the last time, and return what to give the next time."""
        now = {f"{type(error).__name__}: {error}" for error in self._errors}
        for text in sorted(now - told):
            complain(text)
        return now

    def raise_first(self) -> None:
        """Tell of all of them: the first is raised, and gives the exit code."""
        for other in self._errors[1:]:
            complain(f"{type(other).__name__}: {other}")
        if self._errors:
            raise self._errors[0]
