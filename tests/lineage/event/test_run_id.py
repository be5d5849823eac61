"""Run ids: valid, the same for the same run, and another for any other."""

from __future__ import annotations

from datetime import datetime, timezone
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from singerlake.lineage.event.run_id import derived

moments = st.datetimes(min_value=datetime(1970, 1, 2), timezones=st.just(timezone.utc))
parts = st.lists(st.text(max_size=20) | st.integers(), max_size=4)


@given(moments, parts)
def test_an_id_is_a_uuid_of_version_7_with_the_time_in_it(
    time: datetime, given_parts: list[str | int]
) -> None:
    text = derived(time, *given_parts)
    found = UUID(text)
    assert (str(found), found.version) == (text, 7)
    assert text[14] == "7"
    assert found.int >> 80 == int(time.timestamp() * 1000)
    assert derived(time, *given_parts) == text


@given(moments, parts, parts)
def test_other_parts_give_another_id(
    time: datetime, one: list[str | int], other: list[str | int]
) -> None:
    same = list(map(str, one)) == list(map(str, other))
    assert (derived(time, *one) == derived(time, *other)) == same
