"""Windows tile time, in every zone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from singerlake.errors import ConfigError
from singerlake.wait.window import FREQUENCIES, Sliding, Span, Window, parse, parse_offset

UTC = timezone.utc
ZONES = sorted(available_timezones() - {"localtime"})
MOMENTS = st.datetimes(datetime(1840, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
WINDOWS = st.builds(
    Window,
    st.sampled_from(FREQUENCIES),
    st.sampled_from(ZONES),
    st.sampled_from((0, -7200, 5400, 86400 + 30, -1)),
)


def local(text: str, zone: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


@given(WINDOWS, MOMENTS)
@example(Window("D", "Pacific/Apia"), datetime(2011, 12, 30, 12, tzinfo=UTC))
@example(Window("H", "Australia/Lord_Howe"), datetime(2026, 4, 4, 15, 10, tzinfo=UTC))
@example(Window("H", "Australia/Lord_Howe"), datetime(2026, 10, 3, 15, 40, tzinfo=UTC))
@example(Window("D", "America/Juneau"), datetime(1867, 10, 18, 12, tzinfo=UTC))
@example(Window("D", "Asia/Manila"), datetime(1844, 12, 31, 2, tzinfo=UTC))
@example(Window("D", "America/Havana"), datetime(2026, 3, 8, 5, tzinfo=UTC))
def test_windows_tile_time(window: Window, moment: datetime) -> None:
    span = window.at(moment)
    assert span.holds(moment)
    assert window.at(span.start) == span
    assert window.at(span.end - timedelta(microseconds=1)) == span
    following = window.after(span)
    assert following.start == span.end
    assert window.before(following) == span
    assert following.name != span.name


@given(WINDOWS, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=2)))
def test_two_moments_share_a_window_or_lie_in_different_spans(
    window: Window, moment: datetime, later: timedelta
) -> None:
    one, other = window.at(moment), window.at(moment + later)
    assert one == other or one.end <= other.start


@given(st.sampled_from(ZONES), MOMENTS)
def test_a_day_has_the_date_of_its_wall_clock(zone: str, moment: datetime) -> None:
    """But for hours that a clock which was set back over midnight shows a second time."""
    span = Window("D", zone).at(moment)
    wall = moment.astimezone(ZoneInfo(zone))
    if wall.fold == 0 and wall.utcoffset() == span.start.astimezone(ZoneInfo(zone)).utcoffset():
        assert span.name == wall.date().isoformat()


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-07-01", 24),
        ("Africa/Cairo", "2026-04-24", 23),  # midnight does not exist
        ("America/Havana", "2026-11-01", 25),  # 00:00 to 01:00 comes twice
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
    ],
)
def test_days_of_clock_changes(zone: str, day: str, hours: float) -> None:
    span = Window("D", zone).at(local(f"{day}T12:00", zone))
    assert (span.end - span.start) == timedelta(hours=hours)
    assert span.name == day


def test_the_day_that_apia_left_out() -> None:
    window = Window("D", "Pacific/Apia")
    span = window.at(local("2011-12-29T12:00", "Pacific/Apia"))
    assert window.after(span).name == "2011-12-31"
    assert window.before(window.after(span)).name == "2011-12-29"


def test_an_hour_that_comes_twice_is_two_windows() -> None:
    window = Window("H", "Europe/Berlin")
    first = window.at(local("2026-10-25T02:30", "Europe/Berlin"))
    second = window.at(local("2026-10-25T02:30", "Europe/Berlin", fold=1))
    assert (first.name, second.name) == ("2026-10-25T02+0200", "2026-10-25T02+0100")
    assert first.end == second.start


def test_hours_are_those_of_the_wall_clock() -> None:
    span = Window("H", "Asia/Kathmandu").at(datetime(2026, 1, 1, 0, 10, tzinfo=UTC))
    assert span.start == datetime(2025, 12, 31, 23, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("frequency", "name", "start"),
    [
        ("W", "2026-W53", "2026-12-28"),
        ("M", "2026-12", "2026-12-01"),
        ("Q", "2026-Q4", "2026-10-01"),
        ("Y", "2026", "2026-01-01"),
    ],
)
def test_names_and_starts(frequency: str, name: str, start: str) -> None:
    span = parse(frequency).at(datetime(2026, 12, 31, 5, tzinfo=UTC))
    assert span.name == name
    assert span.start == datetime.fromisoformat(start).replace(tzinfo=UTC)


def test_an_offset_moves_boundaries_on_the_wall_clock() -> None:
    window = parse("D", "Europe/Berlin", "-2h")
    span = window.at(local("2026-03-28T22:00", "Europe/Berlin"))
    assert span == Span(
        local("2026-03-28T22:00", "Europe/Berlin"), local("2026-03-29T22:00", "Europe/Berlin"),
        "2026-03-29",
    )  # fmt: skip
    assert span.end - span.start == timedelta(hours=23)


def test_a_sliding_window_ends_now() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    span = Sliding(3600).at(now)
    assert span.holds(now)
    assert span.holds(now - timedelta(hours=1))
    assert not span.holds(now - timedelta(hours=1, microseconds=1))
    assert not span.holds(now + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("-2h", -7200), ("30m", 1800), ("+1d6h", 108000), ("", 0), ("0", 0), ("-90s", -90)],
)
def test_offsets(text: str, seconds: int) -> None:
    assert parse_offset(text) == seconds


@pytest.mark.parametrize("text", ["2", "h", "-2x", "2h-", "--2h", "9" * 30 + "d", "٢h"])
def test_bad_offsets(text: str) -> None:
    with pytest.raises(ConfigError, match="offset"):
        parse_offset(text)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "a\0b"])
def test_bad_zones(zone: str) -> None:
    with pytest.raises(ConfigError, match="zone"):
        Window("D", zone)


def test_the_end_of_all_dates_is_an_error() -> None:
    with pytest.raises(ConfigError, match="end of all dates"):
        Window("Y").at(datetime(9999, 12, 31, tzinfo=UTC))
    with pytest.raises(ConfigError, match="with a zone"):
        Window("Y").at(datetime(2026, 12, 31))
