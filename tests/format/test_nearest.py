"""The nearest known name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.format.nearest import did_you_mean, nearest

KNOWN = ["lake_root", "compression_level", "max_file_bytes", "max_file_records", "Orders"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("compression_levl", "compression_level"),
        ("max_file_recods", "max_file_records"),
        ("LAKE_ROOT", "lake_root"),
        ("orders", "Orders"),
        ("something_else", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_what_was_meant(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant
    assert did_you_mean(name, KNOWN) == (f" Did you mean '{meant}'?" if meant else "")


@given(st.text(), st.lists(st.text()))
def test_it_is_one_of_the_known_names_and_a_known_name_is_its_own_nearest(
    name: str, known: list[str]
) -> None:
    assert nearest(name, known) in (None, *known)
    found = nearest(name, [*known, name])
    assert found is not None
    assert found.casefold() == name.casefold()


def test_the_words_are_one_harmless_line() -> None:
    assert did_you_mean("orders\x1b", ["orders\x1b\n"]).isprintable()
