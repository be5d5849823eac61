"""A rebuild of 10^5 files: each is read once, and nothing else is asked of the store by the file.

What a read tells is given, so that this takes seconds; `test_each_file_is_read_once` of
test_rebuild_continued.py has real files.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks.streams import SCHEMA, Made, make
from singerlake.format import catalogue
from singerlake.format.keys import StreamKeys
from singerlake.lake import examined, log, manifest_copy, rebuild, registry
from singerlake.lake.examined import Examined
from singerlake.lake.inventory import ListedFile
from singerlake.store import Counting, MemoryStore, Store


def without_manifest(store: Store, made: Made) -> None:
    store.delete(made.keys.manifest)


def with_the_copy_alone(store: Store, made: Made) -> None:
    manifest_copy.keep(store, made.keys, made.manifest)
    store.delete(made.keys.manifest)


def with_a_segment_lost(store: Store, made: Made) -> None:
    """The manifest may name more than was listed: the stream is listed again."""
    store.delete(made.keys.under(made.manifest.segments[0].path))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("lose", "files"),
    [
        (with_a_segment_lost, 100_000),
        (with_the_copy_alone, 10_000),
        (without_manifest, 10_000),
    ],
)
def test_each_of_many_files_is_read_once(
    lose: Callable[[Store, Made], None], files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Counting(MemoryStore(uuid.uuid4().hex))
    made = make(store, "orders", files)
    rows = {file.path: file for file in made.files}
    for path in rows:
        store.create(made.keys.under(path), b"content")
    entries = {"orders": catalogue.entry("orders", SCHEMA)}
    registry.register_streams(store, made.keys.tap_id, entries)
    lose(store, made)
    read: Counter[str] = Counter()

    def reading(store: Store, keys: StreamKeys, file: ListedFile) -> Examined:
        read[file.path] += 1
        return Examined(rows[file.path], SCHEMA, 0)

    monkeypatch.setattr(examined, "examine", reading)
    store.reset()
    report = rebuild(store, made.keys.tap_id, "orders")
    assert report.files == log.read_head(store, made.keys).manifest.last_sequence == files
    assert read == Counter(rows.keys())
    assert not {"open", "size", "version"} & store.counts.keys(), "none by the file"
    assert store.counts["read"] <= 3 * files / 100 + 20, "some for each segment"
    assert store.counts["list"] <= 15
