"""The log that Meltano 4 asks its Singer plugins for, in a file of its own for each run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

VARIABLE = "SINGER_SDK_LOG_CONFIG"
FORMATTERS = {
    "structured": {"()": "singer_sdk.logging.StructuredFormatter"},
    "text": {"format": "%(message)s"},
}


def log_config(formatter: str = "structured", level: str = "INFO") -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"singer_formatter": FORMATTERS[formatter]},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "singer_formatter",
                "stream": "ext://sys.stderr",
            },
        },
        "root": {"handlers": ["console"], "level": level},
    }


def environment(folder: Path, formatter: str = "structured", level: str = "INFO") -> dict[str, str]:
    """What is set where Meltano starts a plugin."""
    path = folder / "singer_sdk_logging.json"
    path.write_text(json.dumps(log_config(formatter, level), indent=2))
    return {VARIABLE: str(path)}


def told(log: str, made: re.Pattern[str]) -> list[Any]:
    """The lines of a log, without what differs from run to run: times, numbers of processes, what
    matches `made`, and the frames of errors, which are the door's own."""
    return [_same(json.loads(line), made) for line in log.splitlines()]


def _same(value: Any, made: re.Pattern[str]) -> Any:
    if isinstance(value, dict):
        frames = value.pop("traceback", [])
        assert all({"filename", "function", "lineno", "line"} == frame.keys() for frame in frames)
        return {name: _same(each, made) for name, each in value.items() if name != "pid"}
    if isinstance(value, str):
        return made.sub("…", value)
    return "…" if isinstance(value, float) else value
