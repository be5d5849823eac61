"""The entries of an index as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from singerlake.errors import ConfigError
from singerlake.index.entry import Entry
from singerlake.index.export import export_entries
from singerlake.index.storage.base import Storage

ROWS = 50_000
"""Entries in a row group: they are in memory together."""

_TIME = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("tap", pa.string(), nullable=False),
        pa.field("stream", pa.string(), nullable=False),
        pa.field("log_id", pa.string(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("writer_id", pa.string()),
        pa.field("schema_hash", pa.string()),
        pa.field("version", pa.int64()),
        pa.field("start", _TIME, nullable=False),
        pa.field("end", _TIME, nullable=False),
        pa.field("hash", pa.string()),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("records", pa.int64()),
        pa.field("create_time", _TIME, nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("merged", pa.bool_(), nullable=False),
    ]
)


def write_parquet(storage: Storage, path: Path) -> int:
    """Write every entry of the lake, in order; returns how many there are.

    Raises `ConfigError` where the file cannot be written; what was begun of it is gone then.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        count = _write(storage, partial)
        partial.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be written ({error})") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return count


def _write(storage: Storage, path: Path) -> int:
    entries, count = export_entries(storage), 0
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        while rows := list(islice(entries, ROWS)):
            writer.write_table(_table(rows))
            count += len(rows)
    return count


def _table(entries: list[Entry]) -> pa.Table:
    columns = (list(_values(entries, field.name)) for field in SCHEMA)
    arrays = [
        pa.array(values, type=field.type) for field, values in zip(SCHEMA, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _values(entries: list[Entry], name: str) -> Iterator[object]:
    for entry in entries:
        value = getattr(entry, name)
        # Arrow's texts are UTF-8: a lone surrogate of a name is shown as `\\ud800`.
        yield (
            value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        )
