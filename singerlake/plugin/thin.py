"""A plugin's command without the Singer SDK: what it reads, and how it logs, is as the SDK does.

What is not sure to be so is None here, and the SDK's own command runs.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

from singerlake.plugin.measurement import LOGGER

_FORMAT = "{asctime:23s} | {levelname:8s} | {name:30s} | {message}"
_LEVELS = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}
_LOG_CONFIG = "SINGER_SDK_LOG_CONFIG"

Asked = dict[str, list[str]]


def asked(name: str, arguments: Sequence[str], options: Sequence[str]) -> Asked | None:
    """The values of these options; None where anything else is asked, or the log is special."""
    if _LOG_CONFIG in os.environ or _level(name) not in _LEVELS:
        return None
    found: Asked = {}
    left = list(arguments)
    while left:
        option, has_value, value = left.pop(0).partition("=")
        if option.removeprefix("--") not in options or not option.startswith("--"):
            return None
        if not has_value:
            if not left or left[0].startswith("-"):
                return None
            value = left.pop(0)
        found.setdefault(option.removeprefix("--"), []).append(value)
    return found


def config_of(asked: Asked) -> dict[str, Any] | None:
    """The settings in the files of `--config`; None where one of them is none, or is `ENV`."""
    config: dict[str, Any] = {}
    for path in asked.get("config", []):
        content = json_of(path)
        if path == "ENV" or not isinstance(content, dict):
            return None
        config |= content
    return config


def json_of(path: str) -> Any:
    """What a file of JSON holds; None also where it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


@contextmanager
def logging_as_the_sdk(name: str) -> Iterator[logging.Logger]:
    """Log as the SDK's command does, and end as it does where stdout is gone, or for a fault."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT, style="{"))
    root, log = logging.getLogger(), logging.getLogger(name)
    root.setLevel(_level(name))
    root.addHandler(handler)
    logging.getLogger(LOGGER).setLevel(_level(name))
    logging.captureWarnings(capture=True)
    warnings.filterwarnings("once", category=DeprecationWarning)
    sys.excepthook = _Fault(log)
    try:
        yield log
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nAborted!", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        _mute()
        sys.exit(1)


def log_begin(name: str, log: logging.Logger) -> None:
    """The lines that the SDK's command begins with."""
    ours, theirs = metadata.version("singerlake"), metadata.version("singer-sdk")
    log.info("%s v%s, Meltano SDK v%s", name, ours, theirs)
    log.info("Skipping parse of env var settings...")


def _level(name: str) -> str:
    own = f"{name.upper().replace('-', '_')}_LOGLEVEL"
    return (os.environ.get(own) or os.environ.get("LOGLEVEL") or "INFO").upper()


def _mute() -> None:
    """Python flushes stdout once more at its end, and must not stumble over it."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123


class _Fault:
    """Logs what nobody caught."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log

    def __call__(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        told = error.args[0] if error.args else kind.__name__
        self._log.error("%s", told, exc_info=(kind, error, trace))
