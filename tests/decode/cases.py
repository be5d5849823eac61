"""Streams for the differential test: columns of many types in several versions, texts as values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.decode.oracle import Kind, Oracle, of_schema, together
from tests.spark.lakes import record_line, schema_line

Schema = dict[str, Any]

SCALARS: list[Schema] = [
    {"type": "integer"},
    {"type": ["null", "integer"]},
    {"type": "integer", "maximum": 10**20},
    {"type": "number"},
    {"type": ["null", "integer", "number"]},
    {"type": "number", "multipleOf": 0.01},
    {"type": ["number", "null"], "multipleOf": 0.01, "minimum": -999.99, "maximum": 999.99},
    {"type": "number", "multipleOf": 0.0001, "minimum": 0, "maximum": 10**9},
    {"type": "number", "multipleOf": 1e-25},
    {"type": "number", "multipleOf": 5},
    {"type": "boolean"},
    {"type": "string"},
    {"type": ["null", "string"], "format": "date-time"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "time"},
    {"type": "string", "format": "singer.decimal", "precision": 10, "scale": 3},
    {"type": ["string", "integer"]},
    {"type": ["string", "object"]},
    {"type": "object"},
    {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    {"anyOf": [{"type": "integer"}, {"type": "number"}]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]},
    {"type": "null"},
    {},
]


def _nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return (
        inner.map(lambda each: {"type": ["null", "array"], "items": each or {"type": "string"}})
        | inner.map(lambda each: {"type": "object", "additionalProperties": each or SCALARS[0]})
        | st.dictionaries(st.sampled_from(["x", "y", "größe"]), inner, min_size=1).map(
            lambda fields: {"type": ["null", "object"], "properties": fields}
        )
    )


SCHEMAS = st.recursive(st.sampled_from(SCALARS), _nested, max_leaves=4)

MONEY = st.decimals(-1000, 1000, places=2)
NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(-(2**65), 2**65).map(str),
    MONEY.map(str),
    MONEY.map(lambda amount: str(Decimal(float(amount)))),
    MONEY.map(lambda amount: repr(float(amount) / 3)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda n: json.dumps(n)),
    st.sampled_from(
        ["5.0", "5e3", "-0", "-0.0", "1e-20", "1e400", "1e-400", "0.125", "999.99", "1000"]
    ),
    st.sampled_from(["1.0000000000000000005", "1.0000000000000000015", "28.5199999999999995"]),
)
STRINGS = st.one_of(
    st.sampled_from(["", "abc", "é", "null", "5", "-28.52", "5.0000", "1e3", "+7", "12345678.9"]),
    st.sampled_from(
        [
            "2026-11-16",
            "2026-02-30",
            "0000-01-01",
            "9999-12-31T23:59:59.9999999Z",
            "2026-11-16T00:00:00",
            "2026-11-16 00:00:00+02:00",
            "2026-11-16T02:54",
            "2026-11-16T24:00:00",
            "2026-11-16T02:54:14.1234565Z",
            "2026-11-16t02:54:14.5-09:30",
            "2026-11-16T02:54:14+24:00",
            "0001-01-01T00:00:00+01:00",
        ]
    ),
    MONEY.map(str),
).map(lambda text: json.dumps(text, ensure_ascii=len(text) % 2 == 0))
ANYTHING = st.recursive(
    NUMBERS | STRINGS | st.sampled_from(["null", "true", "false", "{}", "[]"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")
        | st.dictionaries(st.sampled_from(["x", "y", "größe"]), inner, max_size=3).map(
            lambda fields: "{" + ",".join(f'"{n}": {v}' for n, v in fields.items()) + "}"
        )
    ),
    max_leaves=4,
)


def values(schema: Schema) -> st.SearchStrategy[str]:
    """Texts that fit a schema, or nearly do."""
    if "anyOf" in schema:
        return st.one_of([values(each) for each in schema["anyOf"]])
    names = schema.get("type", ["string", "number"])
    names = [names] if isinstance(names, str) else names
    return st.one_of([_of_name(name, schema) for name in names])


def _of_name(name: str, schema: Schema) -> st.SearchStrategy[str]:
    if name == "array" and "items" in schema:
        items = st.lists(values(schema["items"]), max_size=3)
        return items.map(lambda parts: f"[{','.join(parts)}]")
    if name == "object" and "properties" in schema:
        fields = {n: values(each) for n, each in schema["properties"].items()}
        return st.fixed_dictionaries({}, optional=fields).map(_object)
    if name == "object" and "additionalProperties" in schema:
        names = st.sampled_from(["k", "l m", "größe"])
        return st.dictionaries(names, values(schema["additionalProperties"]), max_size=3).map(
            _object
        )
    if name in ("integer", "number"):
        return NUMBERS
    if name == "string":
        return STRINGS
    return {"boolean": st.sampled_from(["true", "false"]), "null": st.just("null")}.get(
        name, ANYTHING
    )


def _object(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(n)}: {v}" for n, v in fields.items()) + "}"


@dataclass(frozen=True)
class Version:
    """A schema version and its records: the text of each value, by column."""

    properties: dict[str, Schema]
    records: list[dict[str, str]]


@dataclass(frozen=True)
class Case:
    """A stream: its versions, and how a read takes numbers."""

    versions: list[Version]
    numbers: str

    def commits(self) -> Iterable[list[bytes]]:
        number = 0
        for version in self.versions:
            lines = [schema_line({"id": {"type": "integer"}, **version.properties})]
            for record in version.records:
                lines.append(record_line(_object({"id": str(number), **record})))
                number += 1
            yield lines

    def expected(self, oracle: Oracle) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """The rows by id, and the misfits by column."""
        kinds: dict[str, Kind] = {}
        for version in self.versions:
            for name, schema in version.properties.items():
                kind = of_schema(schema, self.numbers)
                kinds[name] = together([kinds[name], kind]) if name in kinds else kind
        rows: list[dict[str, Any]] = []
        misfits: dict[str, int] = {}
        for record in (record for version in self.versions for record in version.records):
            row: dict[str, Any] = {"id": len(rows)}
            for name, kind in kinds.items():
                row[name], fits = oracle.read(record.get(name, "null"), kind)
                if not fits:
                    misfits[name] = misfits.get(name, 0) + 1
            rows.append(row)
        return rows, misfits


@st.composite
def cases(draw: st.DrawFn, columns: int = 10, records: int = 6) -> Case:
    names = [f"c{number}" for number in range(columns)]
    versions: list[Version] = []
    known: dict[str, Schema] = {}
    for _ in range(draw(st.integers(1, 3))):
        for name in names:
            if name not in known or draw(st.integers(0, 2)) == 0:
                known[name] = draw(SCHEMAS)
        here = {name: known[name] for name in names if draw(st.integers(0, 9))}
        rows = [
            {
                name: draw(values(schema) if draw(st.integers(0, 3)) else ANYTHING)
                for name, schema in here.items()
                if draw(st.integers(0, 9))
            }
            for _ in range(records)
        ]
        versions.append(Version(here, rows))
    return Case(versions, draw(st.sampled_from(["double", "decimal", "string"])))


def joined(made: Iterable[Case]) -> list[Case]:
    """The same columns in one stream for each way to take numbers."""
    found: dict[str, list[Case]] = {}
    for case in made:
        found.setdefault(case.numbers, []).append(case)
    return [Case(_joined(alike), numbers) for numbers, alike in found.items()]


def _joined(alike: list[Case]) -> list[Version]:
    versions = []
    for at in range(max(len(case.versions) for case in alike)):
        properties: dict[str, Schema] = {}
        records: list[dict[str, str]] = []
        for number, case in enumerate(alike):
            if at >= len(case.versions):
                continue
            version = case.versions[at]
            properties |= {f"{n}_{number}": each for n, each in version.properties.items()}
            for place, record in enumerate(version.records):
                if place == len(records):
                    records.append({})
                records[place] |= {f"{n}_{number}": text for n, text in record.items()}
        versions.append(Version(properties, records))
    return versions
