"""The plugins' log: whatever is quoted in it, a message is one line that no terminal obeys."""

from __future__ import annotations

import logging
from typing import Any

from singerlake.format.printable import plain


class PlainRecord(logging.LogRecord):
    """Names of streams and of other writers come from taps and lakes, and may be hostile.

    A measurement carries its stream's name as `stream_name`, where structured logs have it:
    Meltano shows that name, and not the measurement's tags.
    """

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(plain(name), *args, **kwargs)
        stream = _stream_measured(self.args)
        if stream is not None:
            self.stream_name = plain(stream)

    def getMessage(self) -> str:  # noqa: N802
        return plain(super().getMessage())


def _stream_measured(arguments: Any) -> str | None:
    """The tag `stream` of a measurement of the SDK, which logs it as the only argument."""
    match arguments:
        case (measurement,):
            tags = getattr(measurement, "tags", None)
            return tags.get("stream") if isinstance(tags, dict) else None
    return None


def make_plain() -> None:
    """For every logger and handler of this process, the SDK's too."""
    logging.setLogRecordFactory(PlainRecord)
