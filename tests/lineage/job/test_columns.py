"""Which columns a stream map reads, by its expressions."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.lineage.event.name import DatasetName
from singerlake.lineage.job import columns

SOURCE = DatasetName("n", "s")


def made(rules: dict[str, Any], *names: str) -> dict[str, list[str]]:
    facet = columns.of_map(SOURCE, rules, names)
    return {to: [one.field for one in item.input_fields] for to, item in facet.fields.items()}


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("total", ["total"]),
        ("total * 100", ["total"]),
        ('record["the total"] + _["tax"]', ["tax", "the total"]),
        ("record.get('a', b)", ["a", "b"]),
        ("md5(email) + str(id)", ["email", "id"]),
        ("'a constant'", []),
        ("datetime.date.fromisoformat(day)", ["day"]),
        ("config['salt'] + name", ["name"]),
        ("this is no Python", []),
    ],
)
def test_expressions(rule: str, fields: list[str]) -> None:
    assert made({"x": rule}, "x") == {"x": fields}


def test_what_no_rule_names_comes_as_it_is() -> None:
    facet = columns.of_map(SOURCE, {"x": "a", "b": None, "__filter__": "c > 1"}, ["x", "id"])
    assert facet.fields["id"].input_fields[0].transformations == (columns.IDENTITY,)
    assert facet.fields["x"].input_fields[0].transformations == (columns.IDENTITY,)
    assert [(one.field, one.transformations[0].subtype) for one in facet.dataset] == [
        ("c", "FILTER")
    ]
