"""A damaged file ends the real command with one line that names it, after all that came before."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from singerlake.errors import BadMessage, CorruptFile
from tests.tap.replay import (
    Run,
    config,
    deselect,
    discover,
    files,
    lake,
    land,
    land_numbers,
    new_root,
    paths,
    record,
    replay,
    run,
    schema,
    stream_keys,
)

pytestmark = pytest.mark.usefixtures("door")

BEFORE, AFTER = range(1, 4), range(2000, 2004)
WIDE = [record(number % 3000, name=str(number) * 200) for number in range(3000)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three files; the one in the middle is large: many blocks, several gzip members."""
    folder = tmp_path / "lake"
    land(folder, [schema(), *map(record, BEFORE)], [schema(), *WIDE], [schema(), record(1)])
    return folder


def members(data: bytes) -> list[int]:
    """Where each gzip member of a file ends."""
    ends = []
    while sum(ends) < len(data):
        rest = data[sum(ends) :]
        # A member is whole exactly where the next begins, or the data ends.
        following = rest.find(b"\x1f\x8b\x08", 3)
        while following > 0 and not _is_whole(rest[:following]):
            following = rest.find(b"\x1f\x8b\x08", following + 1)
        ends.append(following if following > 0 else len(rest))
    return [sum(ends[: count + 1]) for count in range(len(ends))]


def _is_whole(data: bytes) -> bool:
    try:
        gzip.decompress(data)
    except (EOFError, OSError):
        return False
    return True


def assert_stopped_at(done: Run, path: Path, *, error: str) -> None:
    """Everything before the file came out with its STATE, then one line in the log."""
    assert done.code == 1
    assert done.lines[: 1 + len(BEFORE)] == [schema(), *map(record, BEFORE)]
    assert done.kinds.count("STATE") == 1
    assert done.sequences() == [1]
    assert done.kinds[1 + len(BEFORE)] == "STATE"
    assert f"{error}: " in done.log
    assert path.name in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("where", ["inside", "at a member's end", "empty"])
def test_a_truncated_file(root: Path, tmp_path: Path, where: str, built: bool) -> None:
    damaged = paths(root)[1]
    data = damaged.read_bytes()
    ends = members(data)
    assert len(ends) > 2, "the file has several members to be cut between"
    cut = {"inside": len(data) - 100, "at a member's end": ends[-2], "empty": 0}[where]
    damaged.write_bytes(data[:cut])
    settings = config(root, flattening_enabled=built, flattening_max_depth=1)
    done = run(tmp_path, settings)
    if built:
        assert done.code == 1
        assert done.sequences() == [1]
        assert "CorruptFile: " in done.log
        assert damaged.name in done.log
        assert "Traceback" not in done.log
    else:
        assert_stopped_at(done, damaged, error="CorruptFile")
    # What could be read came out, in whole lines; the file behind it did not.
    assert len(done.of("RECORD")) < len(BEFORE) + len(WIDE)


def test_a_missing_file(root: Path, tmp_path: Path) -> None:
    gone = paths(root)[1]
    gone.unlink()
    done = run(tmp_path, config(root))
    assert_stopped_at(done, gone, error="MissingFile")
    assert done.numbers() == list(BEFORE)


def test_the_first_file_is_missing(root: Path, tmp_path: Path) -> None:
    gone = paths(root)[0]
    gone.unlink()
    done = run(tmp_path, config(root))
    assert (done.code, done.raw) == (1, b"")
    assert "MissingFile: " in done.log
    assert gone.name in done.log
    assert "Traceback" not in done.log


def test_a_file_whose_bits_changed(root: Path, tmp_path: Path) -> None:
    damaged = paths(root)[1]
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 0xFF
    damaged.write_bytes(bytes(data))
    done = run(tmp_path, config(root))
    assert_stopped_at(done, damaged, error="CorruptFile")


def test_the_run_after_the_repair_goes_on_at_the_damaged_file(root: Path, tmp_path: Path) -> None:
    damaged = paths(root)[1]
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-10])
    first = run(tmp_path, config(root))
    damaged.write_bytes(data)
    second = run(tmp_path, config(root), state=first.state)
    assert second.code == 0
    assert second.data == [schema(), *WIDE, record(1)]


def test_an_empty_file_found_by_listing() -> None:
    root = new_root()
    land_numbers(root, 1, 2)
    store = lake(root).store
    key = stream_keys().under(files(root)[1].path)
    store.delete(stream_keys().manifest)
    store.delete(key)
    store.create(key, gzip.compress(b"\n"))
    for catalog in (None, deselect(discover(config(root)), "name")):
        with pytest.raises(CorruptFile, match=key):
            replay(config(root), catalog=catalog)


def test_a_bad_line_found_by_listing_is_told_with_its_file() -> None:
    root = new_root()
    land_numbers(root, 1, 2)
    store = lake(root).store
    path = files(root)[1].path
    key = stream_keys().under(path)
    store.delete(stream_keys().manifest)
    store.delete(key)
    store.create(key, gzip.compress(schema() + b"\n" + record(2)[:-9] + b"\n"))
    with pytest.raises(BadMessage, match=path):
        replay(config(root), catalog=deselect(discover(config(root)), "name"))


def test_a_corrupt_manifest(root: Path, tmp_path: Path) -> None:
    manifest = root / stream_keys().manifest
    manifest.write_text(manifest.read_text()[:-20])
    done = run(tmp_path, config(root))
    assert (done.code, done.raw) == (1, b"")
    assert "CorruptDocument: " in done.log
    assert "Traceback" not in done.log
