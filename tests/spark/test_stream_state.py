"""The state of a stream as text: what goes in comes out, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.decode import version_union
from singerlake.decode.request import StreamRequest
from singerlake.errors import ConfigError
from singerlake.lake import snapshot as snapshots
from singerlake.spark import stream_state
from singerlake.spark.source import SingerlakeSource
from singerlake.spark.stream_state import OPTION, StreamState
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line

REQUEST = StreamRequest(TAP, STREAM)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"größe": schema}}
    return schema


def state(root: Path) -> StreamState:
    taken = open_lake(root).stream(TAP, STREAM).snapshot()
    return StreamState(taken, version_union.of_stream(taken, REQUEST))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two versions that declare a column differently, in one of them nested as deep as can be."""
    land(tmp_path, [schema_line({"id": {"type": "integer"}, "x": nested(125)})])
    for kind in ("string", "array"):
        properties = {"id": {"type": "integer"}, "x": nested(125), "y": {"type": kind}}
        land(tmp_path, [schema_line(properties), record_line({"id": 1})])
    return tmp_path


def test_it_comes_out_as_it_went_in(root: Path) -> None:
    known = state(root)
    assert known.merged.conflicts
    packed, merged = stream_state.unpack(known.pack())
    assert merged == known.merged
    assert snapshots.unpack(known.snapshot.store, REQUEST.keys, packed) == known.snapshot


def test_a_source_that_has_it_asks_the_store_for_nothing(root: Path) -> None:
    given = {"path": str(root), "tap": TAP, "stream": STREAM}
    known, fresh = state(root), SingerlakeSource(given)
    schema = fresh.schema()
    source = SingerlakeSource({**given, OPTION: known.pack()})
    (root / REQUEST.keys.manifest).unlink()
    assert source.schema() == schema
    (part,) = source.reader(schema).partitions()
    assert [file.sequence for file in part.files] == [1, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["x", "eJw= eJw=", "eJw=", "é é", '{"a": 1}'])
def test_what_no_job_has_packed_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"option singerlake\.state is for Singerlake's own jobs"):
        SingerlakeSource({"path": str(tmp_path), "tap": TAP, "stream": STREAM, OPTION: text})
