"""Values where the schema allows nothing but null: counted, and never read as null unseen."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from singerlake.errors import ConfigError
from singerlake.format.record_type import (
    DOUBLE,
    JSON,
    LONG,
    NULL,
    STRING,
    TEXT,
    Type,
    array,
    mapping,
    struct,
)
from singerlake.projection import document as documents
from singerlake.projection import untyped
from singerlake.projection.document import Published, Settings
from singerlake.projection.schema import KIND

TEXTS = pa.string()


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (NULL, LONG, ["v"]),
        (NULL, array(LONG), ["v"]),
        (NULL, struct({"x": LONG}), ["v"]),
        (NULL, NULL, []),
        (NULL, STRING, []),
        (NULL, TEXT, []),
        (NULL, JSON, []),
        (LONG, DOUBLE, []),
        (array(NULL), array(LONG), ["v[]"]),
        (array(NULL), JSON, []),
        (mapping(NULL), mapping(array(LONG)), ["v{}"]),
        (struct({"x": NULL, "y": NULL}), struct({"x": NULL, "y": LONG, "z": LONG}), ["v.y"]),
        (array(struct({"x": mapping(NULL)})), array(struct({"x": mapping(LONG)})), ["v[].x{}"]),
    ],
)
def test_places_that_readers_would_take_for_null(was: Type, now: Type, expected: list[str]) -> None:
    assert list(untyped.lost(struct({"v": was}), struct({"v": now}))) == expected


@pytest.mark.parametrize(
    ("kind", "arrow", "values", "expected"),
    [
        (NULL, TEXTS, [None, "5", "{}"], {"v": 2}),
        (NULL, TEXTS, [None], {"v": 0}),
        (LONG, pa.int64(), [1], {}),
        (array(NULL), pa.list_(TEXTS), [None, [], ["1", None, "2"]], {"v[]": 2}),
        (mapping(NULL), pa.map_(TEXTS, TEXTS), [None, [("a", "1"), ("b", None)]], {"v{}": 1}),
        (
            struct({"x": NULL, "y": LONG, "z": array(NULL)}),
            pa.struct([("x", TEXTS), ("y", pa.int64()), ("z", pa.list_(TEXTS))]),
            [None, {"x": "1", "y": 1, "z": None}, {"x": None, "y": 1, "z": ["1", "2"]}],
            {"v.x": 1, "v.z[]": 2},
        ),
        (
            array(struct({"x": mapping(NULL)})),
            pa.list_(pa.struct([("x", pa.map_(TEXTS, TEXTS))])),
            [[{"x": [("a", "1")]}, None], None, [{"x": None}, {"x": [("b", "2")]}]],
            {"v[].x{}": 2},
        ),
    ],
)
def test_values_are_counted_by_their_place(
    kind: Type, arrow: Any, values: list[Any], expected: dict[str, int]
) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", arrow)])
    rows = [{"id": number, "v": value} for number, value in enumerate(values)]
    batch = pa.RecordBatch.from_pylist(rows, schema)
    around = pa.Table.from_batches([batch, batch, batch]).combine_chunks().to_batches()[0]
    for found in (batch, around.slice(len(values), len(values))):
        counts: Counter[str] = Counter()
        untyped.count(found, [("v", kind)], counts)
        assert counts == expected
        assert set(expected) == set(untyped.places(struct({"v": kind})))


def version(counts: dict[str, int], **marks: str) -> Published:
    """A version whose columns are strings with these marks."""
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": {KIND: mark}}
        for name, mark in marks.items()
    ]
    schema = {"type": "struct", "fields": fields}
    return Published(
        tap_id="tap",
        stream="s",
        version=1,
        run_id="r",
        published=datetime(2026, 1, 1, tzinfo=timezone.utc),
        settings=Settings(format="parquet", mode="append"),
        log_id="log",
        sequence=1,
        schema=schema,
        schemas=(schema,),
        untyped=counts,
    )


def after(before: Published, made: Published, *, appends: bool = True) -> dict[str, int]:
    return documents.successor(before, made, appends=appends, grace=timedelta(0)).untyped


def test_the_counts_of_versions_add_up() -> None:
    before = version({"v": 2, "w": 0}, v="null", w="null")
    made = version({"v": 1, "w": 0, "new": 4}, v="null", w="null", new="null")
    assert after(before, made) == {"v": 3, "w": 0, "new": 4}
    assert after(before, version({}, v="text")) == {"v": 2, "w": 0}
    assert after(before, made, appends=False) == made.untyped


def test_what_was_never_counted_stays_unknown() -> None:
    older = version({}, v="null", name="text")
    assert after(older, version({"v": 1, "new": 0}, v="null", new="null")) == {"new": 0}


@pytest.mark.parametrize(
    ("counts", "told"), [({"v": 3, "w": 0}, "v 3. "), ({"w": 0}, r"v \(not counted\). ")]
)
def test_a_type_that_hides_values_is_refused(counts: dict[str, int], told: str) -> None:
    before = version(counts, v="null", w="null", name="text")
    documents.require_typed(before, struct({"v": NULL, "w": LONG, "name": TEXT}))
    documents.require_typed(before, struct({"v": TEXT, "w": LONG, "name": TEXT}))
    with pytest.raises(ConfigError, match=f"stream 's' of 'tap'.*: {told}.*--full"):
        documents.require_typed(before, struct({"v": LONG, "w": LONG, "name": TEXT}))
