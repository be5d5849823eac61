"""Published tables in SQL: always one whole version, in any format, without Spark."""

from __future__ import annotations

import io
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from singerlake.errors import MissingFile
from singerlake.lake import clock
from singerlake.projection.document import (
    Published,
    PublishedFile,
    PublishedKeys,
    Settings,
    new_run_id,
    successor,
)
from singerlake.projection.file_format import FORMATS
from singerlake.projection.publication import put, read_published_head
from singerlake.sql import query
from singerlake.store import open_store
from tests.spark.lakes import TAP, land, record_line, schema_line

KEYS = PublishedKeys(TAP, "things")
SPARK_TYPES = {
    pa.int64(): "long",
    pa.string(): "string",
    pa.float64(): "double",
    pa.decimal128(9, 2): "decimal(9,2)",
}


def publish(
    out: Path | str,
    form: str,
    rows: list[dict[str, Any]],
    options: dict[str, Any] | None = None,
    **kinds: pa.DataType,
) -> str:
    """As a run of `project` would: one file, added to what is published."""
    store, run_id = open_store(out, options), new_run_id(clock.now())
    schema = pa.schema(list(kinds.items()))
    file = io.BytesIO()
    sink = FORMATS[form].open(file, schema)
    sink.write(pa.RecordBatch.from_pylist(rows, schema))
    sink.close()
    path, data = f"data/{run_id}/0{FORMATS[form].ending}", file.getvalue()
    store.create(KEYS.under(path), data)
    fields = [
        {"name": name, "type": SPARK_TYPES[kind], "nullable": True, "metadata": {}}
        for name, kind in kinds.items()
    ]
    told = {"type": "struct", "fields": fields}
    made = Published(
        tap_id=KEYS.tap_id,
        stream=KEYS.stream,
        version=1,
        run_id=run_id,
        published=clock.now(),
        settings=Settings(format=form, mode="append"),
        log_id="log",
        sequence=1,
        schema=told,
        schemas=(told,),
        files=(
            PublishedFile(
                path=path, records=len(rows), bytes=len(data), checksum="", since=0, until=1
            ),
        ),
    )
    head = read_published_head(store, KEYS)
    put(store, KEYS, head, successor(head.published, made, appends=True, grace=timedelta(0)))
    return f"{out}/{KEYS.under(path)}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    land(tmp_path / "lake", [schema_line({"id": {"type": "integer"}}), record_line({"id": 9})])
    return tmp_path / "lake"


@pytest.mark.parametrize("form", FORMATS)
def test_a_published_table_is_a_view(root: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    first = [{"id": 1, "price": Decimal("1.50")}, {"id": 2, "price": None}]
    publish(out, form, first, id=pa.int64(), price=pa.decimal128(9, 2))
    publish(
        out,
        form,
        [{"id": 3, "price": Decimal("2.25"), "note": ""}],
        id=pa.int64(),
        price=pa.decimal128(9, 2),
        note=pa.string(),
    )
    found = query(root, "from published.things order by id", published=out).table.to_pylist()
    assert found == [
        {"id": 1, "price": Decimal("1.50"), "note": None},
        {"id": 2, "price": None, "note": None},
        {"id": 3, "price": Decimal("2.25"), "note": ""},
    ]
    text = f'select sum(price) s from published."{TAP}".things p where note is null'
    assert query(root, text, published=out).table.to_pylist() == [{"s": Decimal("1.50")}]


def test_a_table_beside_its_stream(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(out, "parquet", [{"id": 1}], id=pa.int64())
    text = "select s.id raw, p.id tabled from things s, published.things p"
    found = query(root, text, published=out).table.to_pylist()
    assert found == [{"raw": 9, "tabled": 1}]


def test_a_file_that_is_gone_is_named(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    Path(publish(out, "parquet", [{"id": 1}], id=pa.int64())).unlink()
    with pytest.raises(MissingFile, match="run the query again"):
        query(root, "from published.things", published=out)
