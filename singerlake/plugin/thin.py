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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

from singerlake.plugin import meltano_log
from singerlake.plugin.measurement import LOGGER
from singerlake.plugin.meltano_log import LEVELS, Style

_FORMAT = "{asctime:23s} | {levelname:8s} | {name:30s} | {message}"


@dataclass(frozen=True)
class Asked:
    """The values of each option on the command line, and how the log is to look."""

    options: dict[str, list[str]]
    log: Style

    def of(self, option: str) -> list[str]:
        return self.options.get(option, [])


def asked(name: str, arguments: Sequence[str], options: Sequence[str]) -> Asked | None:
    """What these options ask for; None where anything else is asked, or the log is special."""
    style = _style(name)
    if style is None:
        return None
    found: dict[str, list[str]] = {}
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
    return Asked(found, style)


def config_of(asked: Asked) -> dict[str, Any] | None:
    """The settings in the files of `--config`; None where one of them is none, or is `ENV`."""
    config: dict[str, Any] = {}
    for path in asked.of("config"):
        content = json_of(path)
        if path == "ENV" or not isinstance(content, dict):
            return None
        config |= content
    return config


def json_of(path: str) -> Any:
    """What a file of JSON holds; None also where it cannot be read."""
    return parsed(text_of(path) or "")


def text_of(path: str) -> str | None:
    """What a file holds; None where it cannot be read, or only once: a pipe is left to the SDK."""
    try:
        return Path(path).read_text(encoding="utf-8") if Path(path).is_file() else None
    except (OSError, ValueError):
        return None


def parsed(text: str, parse_float: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text; None also where it is no JSON, as with NaN, or too deep."""
    try:
        return json.loads(text, parse_float=parse_float, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def logging_as_the_sdk(name: str, style: Style) -> Iterator[logging.Logger]:
    """Log as the SDK's command does, and end as it does where stdout is gone, or for a fault."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(style.formatter)
    root, log = logging.getLogger(), logging.getLogger(name)
    root.setLevel(style.level)
    root.addHandler(handler)
    logging.getLogger(LOGGER).setLevel(_level(name))
    logging.captureWarnings(capture=True)
    warnings.filterwarnings("once", category=DeprecationWarning)
    sys.excepthook = _Fault(log)
    try:
        yield log
        if sys.stdout is not None:  # as it is where the shell closed it
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


def _style(name: str) -> Style | None:
    """How the SDK would log here; None where it has to see to that itself."""
    level = _level(name)
    if level not in LEVELS:
        return None
    if meltano_log.VARIABLE in os.environ:
        return meltano_log.style(json_of(os.environ[meltano_log.VARIABLE]))
    return Style(level, logging.Formatter(_FORMAT, style="{"))


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
