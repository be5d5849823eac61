"""The plugins' log: whatever is quoted in it, a message is one line that no terminal obeys."""

from __future__ import annotations

import logging
from typing import Any

from singerlake.format.printable import plain


class PlainRecord(logging.LogRecord):
    """Names of streams and of other writers come from taps and lakes, and may be hostile."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(plain(name), *args, **kwargs)
        match self.args:
            case (measurement,) if hasattr(measurement, "tags"):
                self._name_stream(measurement)

    def _name_stream(self, measurement: Any) -> None:
        """Have a measurement's stream shown by Meltano, which shows the text of a line only.

        The SDK's structured log leaves `METRIC` of the text, unless the message has another form.
        """
        stream = measurement.tags.get("stream")
        if stream is not None:
            self.msg, self.args = f"{self.msg}%s", (measurement, "")
            self.metric_info = measurement.to_dict()
            self.stream_name = plain(stream)

    def getMessage(self) -> str:  # noqa: N802
        return plain(super().getMessage())


def make_plain() -> None:
    """For every logger and handler of this process, the SDK's too."""
    logging.setLogRecordFactory(PlainRecord)
