"""Lakes for the tests of Spark: landed by the lake's own writer, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import singer_sdk.testing

from singerlake import Lake, open_lake
from singerlake.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TAP = "tap-test--tests"
STREAM = "things"
FIXTURES = Path(singer_sdk.testing.__file__).parent / "target_test_streams"


def schema_line(
    properties: Mapping[str, Any], keys: Sequence[str] = ("id",), stream: str = STREAM
) -> bytes:
    schema = {"type": "object", "properties": properties}
    message = {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": list(keys)}
    return json.dumps(message).encode()


def record_line(
    record: Mapping[str, Any] | str,
    time: str = "2026-01-01T00:00:00Z",
    stream: str = STREAM,
    version: int | None = None,
) -> bytes:
    """A RECORD message; a record given as text stands in it as it is."""
    text = record if isinstance(record, str) else json.dumps(record)
    more = "" if version is None else f',"version":{version}'
    return (
        f'{{"type":"RECORD","stream":{json.dumps(stream)},"record":{text},'
        f'"time_extracted":"{time}"{more}}}'
    ).encode()


def activate_line(version: int, stream: str = STREAM) -> bytes:
    message = {"type": "ACTIVATE_VERSION", "stream": stream, "version": version}
    return json.dumps(message).encode()


def land(root: Any, lines: Iterable[bytes], tap: str = TAP, **storage_options: Any) -> Lake:
    """One commit of these lines."""
    lake = open_lake(str(root), create=True, **storage_options)
    with lake.writer(tap) as writer:
        for line in lines:
            writer.write(line)
    return lake


def fixture_lines(name: str) -> list[bytes]:
    return (FIXTURES / name).read_bytes().splitlines()


def land_fixture(root: Any, name: str, **storage_options: Any) -> Lake | None:
    """A stream of the SDK's, as a tap would send it; None where a target has to refuse it."""
    try:
        return land(root, fixture_lines(name), **storage_options)
    except InputError:
        return None


def sent_records(name: str) -> dict[str, list[dict[str, Any]]]:
    """What a fixture sends, by stream, as Python's json reads it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in fixture_lines(name):
        message = json.loads(line)
        if message["type"] == "RECORD":
            found.setdefault(message["stream"], []).append(message["record"])
    return found


def rows(df: DataFrame, *order: str) -> list[dict[str, Any]]:
    """The rows as dicts, nested ones too."""
    ordered = df.orderBy(*order) if order else df
    return [row.asDict(recursive=True) for row in ordered.collect()]
