"""Intervals as people write them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import ConfigError
from singerlake.index.entry import micros, moment
from singerlake.index.interval import parse_interval

DAY = 86_400_000_000


def at(text: str) -> int:
    return micros(datetime.fromisoformat(text).replace(tzinfo=timezone.utc))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-03-03", at("2026-03-03"), at("2026-03-04") - 1),
        ("2026-03-01/2026-03-02", at("2026-03-01"), at("2026-03-03") - 1),
        ("2026-03-01/..", at("2026-03-01"), None),
        ("../2026-03-01T08:00Z", None, at("2026-03-01T08:00")),
        ("/", None, None),
        ("..", None, None),
        ("2026-03-01T08:00+02:00/2026-03-01T08:00", at("2026-03-01T06:00"), at("2026-03-01T08:00")),
        ("9999-12-31", at("9999-12-31"), at("9999-12-31") + DAY - 1),
    ],
)
def test_an_interval(text: str, start: int | None, end: int | None) -> None:
    assert parse_interval(text) == (start, end)


@pytest.mark.parametrize(
    "text", ["tomorrow", "2026-13-01", "2026-03-02/2026-03-01", "2026-03-01/x", "a/b/c", "1e99"]
)
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        parse_interval(text)


@given(st.text(max_size=40))
def test_any_text_is_an_interval_or_a_clear_error(text: str) -> None:
    try:
        start, end = parse_interval(text)
    except ConfigError:
        return
    assert start is None or end is None or start <= end


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_a_moment_comes_back(value: datetime) -> None:
    assert moment(micros(value)) == value
