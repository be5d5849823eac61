"""Our formatter and the SDK's: the same line of JSON for whatever is logged."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest
from singer_sdk.logging import StructuredFormatter as OfTheSdk

from singerlake.plugin.log import PlainRecord
from singerlake.plugin.measurement import Measurement
from singerlake.plugin.meltano_log import LEVELS, StructuredFormatter, style
from tests.plugin.meltano import FORMATTERS, log_config


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize("level", sorted(LEVELS))
def test_what_meltano_writes_is_known(formatter: str, level: str) -> None:
    found = style(log_config(formatter, level))
    assert found is not None
    assert found.level == level
    assert isinstance(found.formatter, StructuredFormatter) == (formatter == "structured")
    record = logging.LogRecord("x", logging.INFO, "x", 1, "a %s", ("b",), None)
    assert formatter == "structured" or found.formatter.format(record) == "a b"


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another version": lambda one: one.update(version=2),
    "more": lambda one: one.update(filters={}),
    "loggers": lambda one: one.update(loggers={"singer_sdk.metrics": {"level": "ERROR"}}),
    "others disabled": lambda one: one.update(disable_existing_loggers=True),
    "no root": lambda one: one.pop("root"),
    "another level": lambda one: one["root"].update(level="TRACE"),
    "a level that is no text": lambda one: one["root"].update(level=["INFO"]),
    "a level by number": lambda one: one["root"].update(level=20),
    "two handlers": lambda one: one["handlers"].update(more=one["handlers"]["console"]),
    "another stream": lambda one: one["handlers"]["console"].update(stream="ext://sys.stdout"),
    "another handler": lambda one: one["handlers"]["console"].update({"class": "x.Y"}),
    "a level of the handler": lambda one: one["handlers"]["console"].update(level="ERROR"),
    "another formatter": lambda one: one["formatters"].update(singer_formatter={"()": "x.Y"}),
    "another format": lambda one: one["formatters"].update(singer_formatter={"format": "%(name)s"}),
    "defaults": lambda one: one["formatters"]["singer_formatter"].update(defaults={"a": 1}),
    "no formatters": lambda one: one.update(formatters=[]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_anybody_else_writes_is_not(change: str) -> None:
    config = json.loads(json.dumps(log_config()))
    CHANGES[change](config)
    assert style(config) is None


@pytest.mark.parametrize("config", [None, [], "x", {}, 1])
def test_what_is_no_configuration_is_not(config: Any) -> None:
    assert style(config) is None


def failed(*, cause: bool) -> Any:
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            if cause:
                raise ValueError("second\nline") from first
            raise ValueError("second") from None
    except ValueError:
        return sys.exc_info()


MEASURED = Measurement("counter", "record_count", 7, {"stream": "s\x1b", "pid": 1})
RECORDS: dict[str, tuple[str, tuple[Any, ...], Any, dict[str, Any]]] = {
    "text": ("plain", (), None, {}),
    "values": ("%s and %d", ("é\x1b", 3), None, {}),
    "no text": ({"an": "object"}, (), None, {}),  # type: ignore[dict-item]
    "values that do not fit": ("%d", ("x",), None, {}),
    "too many values": ("none", (1, 2), None, {}),
    "a metric": ("METRIC: %s", (MEASURED,), None, {}),
    "an error with a cause": ("%s", ("x",), failed(cause=True), {}),
    "an error with a context": ("%s", ("x",), failed(cause=False), {}),
    "an error without frames": ("x", (), (ValueError, ValueError("x"), None), {}),
    "no error": ("x", (), (None, None, None), {}),
    "more": ("x", (), None, {"schema": {"a": object}, "app_name": "app", "stream_name": "s"}),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_line_is_that_of_the_sdk(case: str) -> None:
    text, values, error, more = RECORDS[case]
    record = PlainRecord("a.log\ner", logging.WARNING, "file.py", 3, text, values, error)
    record.__dict__ |= more
    ours, theirs = (each.format(record) for each in (StructuredFormatter(), OfTheSdk()))
    assert json.loads(ours) == json.loads(theirs)
    assert "\n" not in ours
