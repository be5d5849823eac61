"""Landing generated streams, and looking at what is published."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession

from singerlake.lake import WriterOptions, open_lake
from singerlake.projection.document import Settings
from singerlake.spark.project import Projection, project
from singerlake.spark.read_published import read_published_arrow
from singerlake.store import Store, StoreWrapper, open_store
from tests.lake.landing import PATIENT

TAP = "tap-test--tests"
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)

NULLABLE = {
    "id": {"type": "integer"},
    "name": {"type": ["null", "string"]},
    "ratio": {"type": ["null", "number"]},
    "price": {"type": ["null", "number"], "multipleOf": 0.01, "minimum": -1e6, "maximum": 1e6},
    "big": {"type": ["null", "integer"], "maximum": 10**30},
    "active": {"type": ["null", "boolean"]},
    "at": {"type": ["null", "string"], "format": "date-time"},
    "day": {"type": ["null", "string"], "format": "date"},
    "größe a/b": {"type": ["null", "integer"]},
    "a.b": {"type": ["null", "integer"]},
    "a`b": {"type": ["null", "string"]},
    ".x": {"type": ["null", "string"]},
    "tags": {"type": ["null", "array"], "items": {"type": ["null", "string"]}},
    "place": {
        "type": ["null", "object"],
        "properties": {
            "lat": {"type": ["null", "number"]},
            "street no.": {"type": ["null", "string"]},
            "seen": {"type": ["null", "string"], "format": "date-time"},
        },
    },
    "counts": {"type": ["null", "object"], "additionalProperties": {"type": "integer"}},
    "lines": {
        "type": ["null", "array"],
        "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
    },
}
"""A property of every kind that becomes a type of its own."""


def schema_message(
    stream: str, properties: dict[str, Any], keys: Iterable[str] = ("id",)
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": list(keys)}


def commit_of(stream: str, properties: dict[str, Any], *values: Any) -> list[dict[str, Any]]:
    """One commit of records with an `id` and a `v` of the given schema."""
    records = [record_message(stream, {"id": at, "v": v}, at) for at, v in enumerate(values)]
    return [schema_message(stream, {"id": {"type": "integer"}, "v": properties}), *records]


def record_message(
    stream: str, record: dict[str, Any], number: int, version: int | None = None
) -> dict[str, Any]:
    moment = (EPOCH + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    message = {"type": "RECORD", "stream": stream, "record": record, "time_extracted": moment}
    return message if version is None else {**message, "version": version}


def land(
    root: str, commits: Iterable[Iterable[dict[str, Any]]], options: dict[str, Any] | None = None
) -> None:
    """Each list of messages becomes a commit; each begins with its SCHEMA."""
    lake = open_lake(root, create=True, **(options or {}))
    with lake.writer(TAP, options=WriterOptions(lock=PATIENT)) as writer:
        for messages in commits:
            for message in messages:
                writer.write(json.dumps(message).encode())
            writer.commit()


def typed_row(number: int) -> dict[str, Any]:
    """The row that a projection should have for `raw_record(number)`."""
    if number % 7 == 3:
        return {name: number if name == "id" else None for name in NULLABLE}
    moment = EPOCH + timedelta(days=number, microseconds=number)
    return {
        "id": number,
        "name": ["", 'quoted "x"\nnew, line', "Größe 日本", "null"][number % 4],
        "ratio": number / 3,
        "price": Decimal(number * 7 - 50) / 100,
        "big": Decimal(10**25 + number),
        "active": number % 2 == 0,
        "at": moment,
        "day": date(2026, 1, 1) + timedelta(days=number),
        "größe a/b": -number,
        "a.b": number + 1,
        "a`b": f"`{number}",
        ".x": f"x {number % 2}",
        "tags": ["a", None, str(number)] if number % 3 else [],
        "place": {"lat": number / 8, "street no.": f"{number}", "seen": moment},
        "counts": [("x", number), ("y z", 2)] if number % 2 else [],
        "lines": [{"sku": f"s{part}"} for part in range(number % 3)],
    }


def raw_record(number: int) -> dict[str, Any]:
    """What the tap sends."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, Decimal):
            return int(value) if value == value.to_integral_value() else float(value)
        return value.isoformat() if isinstance(value, (date, datetime)) else value

    row = typed_row(number)
    if row["counts"] is not None:
        row["counts"] = dict(row["counts"])
    return {name: plain(value) for name, value in row.items()}


def everything(numbers: Iterable[int], stream: str = "everything") -> list[dict[str, Any]]:
    """One commit of records with a value of every kind."""
    messages = [record_message(stream, raw_record(number), number) for number in numbers]
    return [schema_message(stream, NULLABLE), *messages]


def simple(numbers: Iterable[int], stream: str = "orders", **more: Any) -> list[dict[str, Any]]:
    """One commit of small records."""
    properties = {"id": {"type": "integer"}, "shop": {"type": ["null", "string"]}}
    records = [{"id": number, "shop": f"shop {number % 3}", **more} for number in numbers]
    added = {name: {"type": ["null", "integer"]} for name in more}
    messages = [record_message(stream, record, record["id"]) for record in records]
    return [schema_message(stream, {**properties, **added}), *messages]


APPEND = Settings(format="parquet", mode="append")
CURRENT = Settings(format="parquet", mode="current")


class Projector:
    """One lake and one output, and runs between them."""

    def __init__(
        self, spark: SparkSession, lake: str, out: str, options: dict[str, Any] | None = None
    ) -> None:
        self.spark, self.lake, self.out, self.options = spark, lake, out, options

    def land(self, *commits: Iterable[dict[str, Any]]) -> None:
        land(self.lake, commits, self.options)

    def run(self, stream: str = "orders", settings: Settings = APPEND, **more: Any) -> Projection:
        return project(
            self.spark,
            self.lake,
            self.out,
            TAP,
            stream,
            settings,
            storage_options=self.options,
            out_options=self.options,
            **more,
        )

    def rows(self, stream: str = "orders") -> list[dict[str, Any]]:
        table = read_published_arrow(self.out, TAP, stream, self.options)
        return list(table.to_pylist())

    def ids(self, stream: str = "orders") -> list[int]:
        return sorted(row["id"] for row in self.rows(stream))

    def data_files(self) -> set[str]:
        rows = open_store(self.out, self.options).list("")
        return {row.key for row in rows if "/data/" in row.key}


class Crash(Exception):
    """The process is gone."""


class CrashingStore(StoreWrapper):
    """Dies before or after the put of the published document. Tasks get the store without it."""

    def __init__(self, inner: Store, before: bool) -> None:
        super().__init__(inner)
        self._before = before

    def create(self, key: str, data: Any) -> str:
        return self._around(key, lambda: self.inner.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._around(key, lambda: self.inner.replace(key, data, version))

    def _around(self, key: str, put: Callable[[], str]) -> str:
        if not key.endswith("published.json"):
            return put()
        if not self._before:
            put()
        raise Crash

    def __reduce__(self) -> Any:
        return operator.itemgetter(0), ((self.inner,),)


class FailingTasks(StoreWrapper):
    """Uploads of one partition fail; those of others may have succeeded before."""

    def create(self, key: str, data: Any) -> str:
        if "/shop=shop 1/" in key:
            raise OSError("the disk of this executor is full")
        return self.inner.create(key, data)
