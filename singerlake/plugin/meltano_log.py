"""The log that Meltano asks every Singer plugin for, without the Singer SDK that it names.

Meltano writes a file for each run, and names it in `SINGER_SDK_LOG_CONFIG`. The SDK reads YAML of
any kind there. Here is what Meltano itself writes, and nothing else.
"""

from __future__ import annotations

import json
import linecache
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

VARIABLE = "SINGER_SDK_LOG_CONFIG"
LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})

_OF_PYTHON = {*vars(logging.makeLogRecord({})), "asctime", "taskName"}
"""What every record has; the rest was given to it by whoever logged it."""


@dataclass(frozen=True)
class Style:
    """From which level on lines are logged, and how they look."""

    level: str
    formatter: logging.Formatter


def style(config: Any) -> Style | None:
    """What a log configuration asks for; None where it is not exactly one of Meltano's."""
    match config:
        case {"formatters": {"singer_formatter": asked}, "root": {"level": str(level)}}:
            for known, make in _FORMATTERS:
                if level in LEVELS and asked == known and config == _configuration(level, known):
                    return Style(level, make())
    return None


def _configuration(level: str, formatter: dict[str, str]) -> dict[str, Any]:
    handler = {
        "class": "logging.StreamHandler",
        "formatter": "singer_formatter",
        "stream": "ext://sys.stderr",
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"singer_formatter": formatter},
        "handlers": {"console": handler},
        "root": {"handlers": ["console"], "level": level},
    }


class StructuredFormatter(logging.Formatter):
    """A line of JSON for each record, with the members that the SDK's formatter gives it."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: value for name, value in vars(record).items() if name not in _OF_PYTHON}
        line = {
            "level": record.levelname.lower(),
            "pid": record.process,
            "logger_name": record.name,
            "ts": record.created,
            "thread_name": record.threadName,
            "app_name": extra.pop("app_name", "singer-sdk"),
            "stream_name": extra.pop("stream_name", None),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _exception(record.exc_info[1], record.exc_info[2])
        line["message"] = _message(record)
        return json.dumps(line | {"extra": extra}, default=str, separators=(",", ":"))


_FORMATTERS: tuple[tuple[dict[str, str], Callable[[], logging.Formatter]], ...] = (
    ({"()": "singer_sdk.logging.StructuredFormatter"}, StructuredFormatter),
    ({"format": "%(message)s"}, logging.Formatter),  # whose own format is the same
)


def _message(record: logging.LogRecord) -> Any:
    """As it is where it does not fit its values: better than no line."""
    try:
        return record.getMessage() if record.args else record.msg
    except (TypeError, ValueError):
        return record.msg


def _exception(error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
    """An error, where it came from, and what it came of."""
    kind = type(error)
    found: dict[str, Any] = {
        "type": kind.__name__,
        "module": kind.__module__,
        "message": str(error),
    }
    if trace is not None:
        found["traceback"] = [_frame(*each) for each in traceback.walk_tb(trace)]
    of = "cause" if error.__cause__ else "context"
    if (other := error.__cause__ or error.__context__) is not None:
        found[of] = _exception(other, other.__traceback__)
    return found


def _frame(frame: Any, line: int) -> dict[str, Any]:
    code = frame.f_code
    return {
        "filename": code.co_filename,
        "function": code.co_name,
        "lineno": line,
        "line": linecache.getline(code.co_filename, line),
    }
