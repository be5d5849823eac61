"""Slugs: each name has one, and it leads back."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from singerlake.index.v0.slug import from_slug, to_slug

NAMES = some.text(some.characters() | some.sampled_from("_x4f-"), min_size=1, max_size=20)


@settings(max_examples=100)
@given(NAMES)
@example("null")
@example("_x4f")
@example("__x_x5f")
@example("\ud800")
def test_each_name_has_a_slug_that_leads_back(name: str) -> None:
    slug = to_slug(name)
    assert re.fullmatch("[a-z0-9_-]+", slug)
    assert slug != "null"
    assert from_slug(slug) == name


@settings(max_examples=100)
@given(NAMES, NAMES)
def test_no_two_names_have_one_slug(one: str, other: str) -> None:
    assert (to_slug(one) == to_slug(other)) == (one == other)


@settings(max_examples=100)
@given(NAMES)
def test_any_text_may_be_asked_for(text: str) -> None:
    assert isinstance(from_slug(text), str)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("orders", "orders"),
        ("Orders", "_x4frders"),
        ("a/b", "a_x2fb"),
        ("order_lines", "order_lines"),
        ("_xy", "_x5fxy"),
        ("größe", "gr_xc3_xb6_xc3_x9fe"),
        ("null", "_x6eull"),
    ],
)
def test_slugs(name: str, slug: str) -> None:
    assert to_slug(name) == slug


@pytest.mark.parametrize("text", ["_xff", "_x4", "_x61", "_X4f", "Orders", "", "_x"])
def test_what_is_the_slug_of_nothing_stands_for_itself(text: str) -> None:
    assert from_slug(text) == text
