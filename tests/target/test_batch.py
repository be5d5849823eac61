"""BATCH messages: their files' records land as if the tap had sent them, a few at a time."""

from __future__ import annotations

import gzip
import io
import json
import random
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from singerlake.errors import BadMessage, ConfigError
from target_singerlake.landing import Landing
from target_singerlake.target import TargetSingerlake
from tests.target.driving import (
    MEASURED,
    PATHS,
    TAP_ID,
    as_sent,
    assert_clean,
    files,
    land,
    listen,
    numbers,
    peak_megabytes,
    record,
    records,
    run,
    schema,
    state,
    stored,
    text,
)

pytestmark = pytest.mark.usefixtures("door")

ENCODINGS = {
    "jsonl gzip": {"format": "jsonl", "compression": "gzip"},
    "jsonl none": {"format": "jsonl", "compression": "none"},
    "jsonl": {"format": "jsonl"},
    "parquet": {"format": "parquet"},
    "parquet gzip": {"format": "parquet", "compression": "gzip"},
}
TEXT = {"type": ["null", "string"]}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> dict[str, str]:
    return ENCODINGS[request.param]


def batch(encoding: dict[str, str], *paths: Path, stream: str = "s", **more: Any) -> str:
    manifest = [path.as_uri() for path in paths]
    message = {"type": "BATCH", "stream": stream, "encoding": encoding, "manifest": manifest}
    return json.dumps({**message, **more})


def written(path: Path, encoding: dict[str, str], rows: list[dict[str, Any]]) -> Path:
    if encoding["format"] == "parquet":
        parquet.write_table(
            pyarrow.Table.from_pylist(rows), path, compression=encoding.get("compression", "snappy")
        )
        return path
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if encoding.get("compression") == "gzip" else text)
    return path


def test_the_records_of_batch_files_land_in_order(
    tmp_path: Path, encoding: dict[str, str], path: dict[str, Any]
) -> None:
    first = written(tmp_path / "1", encoding, [{"id": n, "t": "é"} for n in range(2, 2500)])
    second = written(tmp_path / "2", encoding, [{"id": 2500, "t": None}])
    lines = [schema("s", t=TEXT), record("s", 1, t="x"), batch(encoding, first, second)]
    root = tmp_path / "lake"
    outcome = run([*lines, record("s", 2501, t="y"), state({"at": 1})], root, **path)
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}']), outcome.log
    assert numbers(root, "s") == list(range(1, 2502))
    assert records(root, "s")[1] == {"id": 2, "t": "é"}
    assert "1 batch manifests" in outcome.log
    assert_clean(root)


def test_the_schema_may_change_around_a_batch(
    tmp_path: Path, encoding: dict[str, str], path: dict[str, Any]
) -> None:
    file = written(tmp_path / "1", encoding, [{"id": 2}, {"id": 3}])
    later = written(tmp_path / "2", encoding, [{"id": 4, "t": "x"}])
    lines = [schema("s"), record("s", 1), batch(encoding, file), schema("s", t=TEXT)]
    root = tmp_path / "lake"
    assert run([*lines, batch(encoding, later), record("s", 5)], root, **path).code == 0
    assert numbers(root, "s") == [1, 2, 3, 4, 5]
    first, second = files(root, "s")
    assert (first.records, second.records) == (3, 2)
    assert first.path.partition("/")[0] != second.path.partition("/")[0]
    assert_clean(root)


def test_json_records_are_kept_byte_for_byte(tmp_path: Path) -> None:
    text = b'{ "b":1.10, "id":12345678901234567890123, "x":"\\u00e9" }'
    (tmp_path / "1").write_bytes(b"\n" + text + b"\r\n\n")
    line = batch({"format": "jsonl"}, tmp_path / "1", version=7)
    assert run([schema("s"), line], tmp_path / "lake").code == 0
    (stored_line,) = stored(tmp_path / "lake", "s")
    assert as_sent(stored_line) == (
        b'{"type":"RECORD","stream":"s","version":7,"record":' + text + b"}"
    )


@pytest.mark.parametrize("value", [b"NaN", b"-Infinity", rb'"\ud800"'])
def test_json_that_python_reads_is_kept_byte_for_byte(tmp_path: Path, value: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(b'{"id":1,"x":' + value + b"}\n")
    land([schema("s"), batch({"format": "jsonl"}, file)], tmp_path / "lake")
    (line,) = stored(tmp_path / "lake", "s")
    assert value in line


def test_decimals_and_times_of_parquet_are_exact(tmp_path: Path, path: dict[str, Any]) -> None:
    value = Decimal("12345678901234567890.123456789")
    table = pyarrow.table({"id": [1], "d": [value], "big": [2**63 - 1]})
    parquet.write_table(table, tmp_path / "1")
    more = {"d": {"type": "number"}, "big": {"type": "integer"}}
    line = batch({"format": "parquet"}, tmp_path / "1")
    assert run([schema("s", **more), line], tmp_path / "lake", **path).code == 0
    assert records(tmp_path / "lake", "s") == [{"id": 1, "d": str(value), "big": 2**63 - 1}]


def test_nan_and_infinity_of_parquet_stay(tmp_path: Path, path: dict[str, Any], root: str) -> None:
    numbers = [float("nan"), float("inf"), float("-inf")]
    file = written(tmp_path / "1", {"format": "parquet"}, [{"id": 1, "x": numbers}])
    land([schema("s"), batch({"format": "parquet"}, file)], root, **path)
    (line,) = stored(root, "s")
    assert b'"x":[NaN,Infinity,-Infinity]' in line


def test_the_files_are_those_that_the_message_names_whatever_root_is_configured(
    tmp_path: Path, path: dict[str, Any], root: str
) -> None:
    plain = {"format": "jsonl"}
    named = []
    for number in (1, 2):
        folder = tmp_path / f"d{number}"
        folder.mkdir()
        named.append(written(folder / "p.jsonl", plain, [{"id": number}]))
    written(tmp_path / "p.jsonl", plain, [{"id": 99}])
    storage = {"root": tmp_path.as_uri(), "params": {"auto_mkdir": False}}
    config = {"encoding": plain, "storage": storage}
    land([schema("s"), batch(plain, *named)], root, batch_config=config, **path)
    assert numbers(root, "s") == [1, 2]


@pytest.mark.parametrize(
    "config",
    [
        {"encoding": {"format": "jsonl"}, "storage": {"root": "file:///x", "surprise": 1}},
        {"encoding": {"format": "jsonl"}, "storage": {"root": "file:///x", "params": 7}},
        {"encoding": {"format": "jsonl", "surprise": 1}, "storage": {"root": "file:///x"}},
        {"encoding": {"format": "jsonl"}, "storage": None},
        {"storage": {"root": "file:///x"}},
    ],
    ids=str,
)
def test_a_batch_config_that_is_none_is_told_before_anything_lands(
    config: dict[str, Any], path: dict[str, Any], root: str
) -> None:
    with pytest.raises(ConfigError, match="batch_config"):
        land([schema("s"), record("s", 1)], root, batch_config=config, **path)


@pytest.mark.parametrize(
    "url",
    ["", "relative/x.jsonl", "nobody://knows/this", "https://me:hush@127.0.0.1:1/x?signature=hush"],
)
def test_a_url_that_cannot_be_opened_ends_the_run_and_tells_no_credentials(
    url: str, path: dict[str, Any], root: str
) -> None:
    message = json.loads(batch({"format": "jsonl"}))
    lines = [schema("s"), record("s", 1), json.dumps({**message, "manifest": [url]})]
    with pytest.raises(BadMessage, match="line 3 of the input, stream 's'") as caught:
        land(lines, root, **path)
    assert "hush" not in str(caught.value)
    assert numbers(root, "s") == [1]


def test_a_package_that_is_missing_is_told_after_what_came_was_committed(
    path: dict[str, Any], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise ImportError("Please install gcsfs to access Google Storage")

    monkeypatch.setattr("fsspec.core.get_filesystem_class", refuse)
    message = {**json.loads(batch({"format": "jsonl"})), "manifest": ["gs://bucket/x"]}
    with pytest.raises(BadMessage, match=r"gs://bucket/x cannot be read .*install gcsfs"):
        land([schema("s"), record("s", 1), json.dumps(message)], root, **path)
    monkeypatch.undo()
    assert numbers(root, "s") == [1]


def test_to_look_for_a_file_makes_no_folder(tmp_path: Path, root: str) -> None:
    with pytest.raises(BadMessage, match="No such file"):
        land([schema("s"), batch({"format": "jsonl"}, tmp_path / "no" / "x")], root)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    "column",
    [pyarrow.array([b"\xffhush"]), pyarrow.array([10**18], pyarrow.timestamp("us"))],
    ids=["bytes that are no text", "a time past the year 9999"],
)
def test_a_value_that_json_cannot_hold_ends_the_run_and_is_not_told(
    column: Any, tmp_path: Path, path: dict[str, Any], root: str
) -> None:
    parquet.write_table(pyarrow.table({"id": [2], "x": column}), tmp_path / "1")
    line = batch({"format": "parquet"}, tmp_path / "1")
    with pytest.raises(BadMessage, match=r"line 3 of the input.* JSON cannot hold") as caught:
        land([schema("s"), record("s", 1), line], root, **path)
    assert "hush" not in str(caught.value)
    assert numbers(root, "s") == [1]


def test_no_interval_commits_a_few_records_at_once(
    tmp_path: Path, path: dict[str, Any], root: str
) -> None:
    file = written(tmp_path / "1", {"format": "jsonl"}, [{"id": n} for n in range(30)])
    lines = [schema("s"), batch({"format": "jsonl"}, file)]
    land(lines, root, commit_interval_seconds=0, **path)
    assert [file.records for file in files(root, "s")] == [30]


def test_a_signal_inside_a_batch_commits_what_came_with_the_state_before_it(
    tmp_path: Path, path: dict[str, Any], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "1", {"format": "jsonl"}, [{"id": n} for n in range(1, 10_000)])
    seen = 0
    count = Landing.count

    def counted(landing: Landing, *rest: Any) -> None:
        nonlocal seen
        count(landing, *rest)
        seen += 1
        if seen == 1500:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Landing, "count", counted)
    lines = [schema("s"), record("s", 0), state({"at": 1}), batch({"format": "jsonl"}, file)]
    config = {"lake_root": root, "tap_id": TAP_ID, **path}
    source = io.BytesIO(text([*lines, state({"at": 2}), record("s", 10_000)]))
    emitted: list[bytes] = []
    monkeypatch.setattr("target_singerlake.landing._emit", lambda value, log: emitted.append(value))
    with pytest.raises(SystemExit) as end:
        listen(TargetSingerlake(config=config), source)
    assert (end.value.code, emitted) == (128 + signal.SIGTERM, [b'{"at": 1}'])
    there = numbers(root, "s")
    assert 1500 <= len(there) < 4000
    assert there == list(range(len(there)))


def damaged(kind: str, folder: Path) -> tuple[dict[str, str], Path]:
    encoding = {"format": "jsonl", "compression": "gzip"}
    file = folder / "file"
    rows = [{"id": n, "pad": f"{n * 7919 % 10007}"} for n in range(2, 5000)]
    if kind == "missing":
        return encoding, file
    if kind == "a folder":
        file.mkdir()
        return encoding, file
    if kind.startswith("parquet"):
        encoding = {"format": "parquet"}
    written(file, encoding, rows)
    data = file.read_bytes()
    half = len(data) // 2
    changed = {
        "truncated": data[:half],
        "not gzip": b"hello",
        "garbled": data[:half] + b"\x00\xff" * 50 + data[half + 100 :],
        "parquet empty": b"",
        "parquet truncated": data[:half],
        "parquet garbled": data[:200] + b"\xff" * (half - 200) + data[half:],
        "bad JSON": gzip.compress(b'{"id": 2}\n{"id": 3, "x": "hush'),
        "two on a line": gzip.compress(b'{"id": 2}{"id": 3, "x": "hush"}\n'),
        "no object": gzip.compress(b'"hush"\n'),
        "another message": gzip.compress(b'{"x": "hush"},"type":"STATE","value":{}\n'),
    }[kind]
    file.write_bytes(changed)
    return encoding, file


@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "a folder",
        "truncated",
        "not gzip",
        "garbled",
        "parquet empty",
        "parquet truncated",
        "parquet garbled",
        "bad JSON",
        "two on a line",
        "no object",
        "another message",
    ],
)
def test_a_missing_or_damaged_file_ends_the_run_and_is_not_acknowledged(
    tmp_path: Path, kind: str, path: dict[str, Any]
) -> None:
    encoding, file = damaged(kind, tmp_path)
    lines = [schema("s"), record("s", 1), state({"at": 1}), batch(encoding, file)]
    outcome = run([*lines, state({"at": 2})], tmp_path / "lake", **path)
    assert "line 4 of the input, stream 's'" in outcome.refused()
    assert outcome.states == [b'{"at": 1}']
    assert "hush" not in outcome.log
    assert numbers(tmp_path / "lake", "s")[0] == 1
    assert_clean(tmp_path / "lake")


@pytest.mark.parametrize(
    "wrong",
    [
        {"encoding": {"format": "csv"}},
        {"encoding": {"format": "jsonl", "compression": "zstd"}},
        {"encoding": {"surprise": 1}},
        {"encoding": None},
        {"manifest": 7},
        {"manifest": "file:///x"},
        {"manifest": None},
    ],
    ids=str,
)
def test_a_batch_that_cannot_be_understood_ends_the_run(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    file = written(tmp_path / "1", {"format": "jsonl"}, [{"id": 1}])
    message = {**json.loads(batch({"format": "jsonl"}, file)), **wrong}
    lines = [schema("s"), record("s", 1), json.dumps(message)]
    assert "line 3 of the input, stream 's'" in run(lines, tmp_path / "lake").refused()


def test_a_batch_before_its_schema_is_refused(tmp_path: Path, path: dict[str, Any]) -> None:
    file = written(tmp_path / "1", {"format": "jsonl"}, [{"id": 1}])
    outcome = run([schema("t"), batch({"format": "jsonl"}, file)], tmp_path / "lake", **path)
    assert "line 2 of the input, stream 's'" in outcome.refused()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl gzip", "parquet of one row group", "parquet of many"])
def test_a_large_file_is_not_loaded_whole(tmp_path: Path, kind: str) -> None:
    """A file of 200 MB of records, of which the target holds a fraction.

    Their text is random: what shrinks to nothing on the disk would tell nothing.
    """
    file = tmp_path / "1"
    count, portion = 20_000, 1000
    texts = [random.randbytes(5000).hex() for _ in range(portion)]
    encoding = ENCODINGS["jsonl gzip" if kind == "jsonl gzip" else "parquet"]
    if encoding["format"] == "parquet":
        one = pyarrow.table({"id": list(range(portion)), "pad": texts})
        whole = pyarrow.concat_tables([one] * (count // portion))
        group = count if kind == "parquet of one row group" else portion
        parquet.write_table(
            whole, file, row_group_size=group, compression="none", use_dictionary=False
        )
        assert parquet.ParquetFile(file).num_row_groups == count // group
        assert file.stat().st_size > 200e6
    else:
        rows = "".join(json.dumps({"id": n, "pad": pad}) + "\n" for n, pad in enumerate(texts))
        file.write_bytes(gzip.compress(rows.encode(), 1) * (count // portion))
        assert file.stat().st_size > 100e6
    lines = [schema("s"), batch(encoding, file), state({"at": 1})]
    outcome = run(lines, tmp_path / "lake", command=MEASURED)
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}']), outcome.log
    assert sum(file.records for file in files(tmp_path / "lake", "s")) == count
    # pyarrow alone is 100 MB, and how much its allocator keeps depends on how busy the machine is.
    assert peak_megabytes(outcome) < (270 if encoding["format"] == "parquet" else 140)
