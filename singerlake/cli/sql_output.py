"""The answer to a query on stdout: a table for people, JSON and csv for programs."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Protocol

import click
import msgspec
import pyarrow as pa
from pyarrow import csv
from rich.text import Text

from singerlake.cli.console import is_terminal, print_table, safe_json, table
from singerlake.cli.name import shown
from singerlake.format.printable import plain

_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


class Answer(Protocol):
    """That of `singerlake.sql`, which the command imports by name."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def types(self) -> tuple[str, ...]: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...

    def misfits(self) -> list[Any]: ...


def print_answer(answer: Answer, form: str, limit: int | None) -> bool:
    """Print at most so many rows; returns whether there are more."""
    rows = _Limited(answer.batches(), limit)
    _PRINTERS[form](answer, rows)
    return rows.has_more()


class _Limited:
    """Batches with so many rows at most, which know in the end whether there were more."""

    def __init__(self, batches: Iterator[pa.RecordBatch], limit: int | None) -> None:
        self._batches, self._left, self._cut = batches, limit, False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if self._left is None:
                yield batch
                continue
            self._cut = batch.num_rows > self._left
            yield batch.slice(0, self._left)
            self._left -= min(self._left, batch.num_rows)
            if self._cut:
                return

    def has_more(self) -> bool:
        return self._cut

    def rows(self) -> Iterator[dict[str, Any]]:
        for batch in self:
            yield from _values(batch)


def _values(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as Python has them; JSON has no word for NaN and infinities, so they are texts."""
    has_floats = any(map(_may_hold_float, batch.schema.types))
    for row in batch.to_pylist(maps_as_pydicts="lossy"):
        yield _finite(row) if has_floats else row


def _may_hold_float(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_may_hold_float(kind.field(place).type) for place in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _encoded(value: Any) -> str:
    return _encoder.encode(value).decode()


def _print_json(answer: Answer, rows: _Limited) -> None:
    """One document, written while the rows come."""
    kinds = zip(answer.columns, answer.types, strict=True)
    columns = _encoded([{"name": name, "type": kind} for name, kind in kinds])
    _write(f'{{"columns": {columns},\n"rows": [')
    before = "\n"
    for row in rows.rows():
        _write(f"{before}{_encoded(row)}")
        before = ",\n"
    misfits = _encoded([asdict(misfit) for misfit in answer.misfits()])
    _write(f'],\n"misfits": {misfits}}}\n')


def _print_jsonl(answer: Answer, rows: _Limited) -> None:
    for row in rows.rows():
        _write(f"{_encoded(row)}\n")


def _write(text: str) -> None:
    """To a pipe as it is; to a terminal without what it would obey."""
    if is_terminal():
        sys.stdout.write(safe_json(text))
    else:
        sys.stdout.buffer.write(text.encode())


def _print_csv(answer: Answer, rows: _Limited) -> None:
    """Null is nothing at all, and an empty text is `""`; nested values are JSON texts."""
    has_header = True
    for batch in rows:
        flat = pa.table([_flat(column) for column in batch.columns], names=list(answer.columns))
        _write_csv(flat, has_header)
        has_header = False
    if has_header:
        _write_csv(pa.table([[] for _ in answer.columns], names=list(answer.columns)), True)


def _write_csv(rows: pa.Table, has_header: bool) -> None:
    sink = io.BytesIO()
    csv.write_csv(rows, sink, csv.WriteOptions(include_header=has_header))
    if is_terminal():
        lines = sink.getvalue().decode().splitlines()
        sys.stdout.write("".join(f"{plain(line)}\n" for line in lines))
    else:
        sys.stdout.buffer.write(sink.getvalue())


def _flat(column: pa.Array) -> pa.Array:
    kind = column.type
    if any(is_plain(kind) for is_plain in _PLAIN):
        return column
    return pa.array(
        [None if value is None else _cell(value) for value in _listed(column)], pa.string()
    )


_PLAIN: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def _listed(column: pa.Array) -> list[Any]:
    return list(column.to_pylist(maps_as_pydicts="lossy"))


def _cell(value: Any) -> str:
    return _encoded(_finite(value)) if isinstance(value, (dict, list)) else str(value)


def _print_table(answer: Answer, rows: _Limited) -> None:
    if answer.columns == ("explain_key", "explain_value"):
        for row in rows.rows():
            click.echo("\n".join(map(plain, row["explain_value"].split("\n"))))
        return
    numbers = tuple(
        name for name, kind in zip(answer.columns, answer.types, strict=True) if _is_number(kind)
    )
    made = table(*answer.columns, numbers=numbers)
    for batch in rows:
        for values in zip(*map(_listed, batch.columns), strict=True):
            made.add_row(*map(_shown, values))
    print_table(made)


def _is_number(kind: str) -> bool:
    return kind.endswith("INT") or kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "INTEGER"))


def _shown(value: Any) -> Text:
    return Text("NULL", style="dim") if value is None else shown(_cell(value))


_PRINTERS = {
    "table": _print_table,
    "json": _print_json,
    "jsonl": _print_jsonl,
    "csv": _print_csv,
}
