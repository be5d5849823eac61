"""One bit of one stored object flips: check, the tap and Spark each say so, and name the object."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import pytest

from singerlake.errors import SingerlakeError
from singerlake.format import document, lock_record
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format.keys import FileName, StreamKeys
from singerlake.format.lock_record import LockRecord
from singerlake.lake import log, source
from singerlake.lake.source import blocks
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Store
from tests.faults.hostile_readers import READERS, Found
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.lake.landing import (
    EPOCH,
    KEYS,
    QUICK,
    TAP,
    copy_of,
    land,
    land_each,
    lock_key,
    new_store,
    numbers_in,
    overwrite,
)

SUITE = "Flipped bits"
SEED = 20261116
INSIDE = 3
"""A sequence number inside the merged file, which bears 1 to 4."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def store() -> Store:
    """A stream whose log has every kind of object."""
    made = new_store()
    with mock.patch.object(manifests, "FAN_OUT", 1):
        land_each(made, range(2))
        land(made, range(2, 5))
        land(made, range(5, 8))
        vacuum(made, KEYS, replace(VacuumOptions(), target_bytes=1 << 20))
        for number in range(8, 11):
            land(made, [number])
    manifest = log.read_head(made, KEYS).manifest
    assert manifest.segments
    assert any(file.merge for file in log.files(made, KEYS, manifest))
    return made


def objects(store: Store) -> dict[str, str]:
    """An object of each kind."""
    manifest = log.read_head(store, KEYS).manifest
    files = list(log.files(store, KEYS, manifest))
    merged = next(file for file in files if file.merge)
    assert merged.merge
    return {
        "data file": KEYS.under(files[-1].path),
        "merged data file": KEYS.under(merged.path),
        "manifest": KEYS.manifest,
        "segment": KEYS.under(manifest.segments[-1].path),
        "merge document": KEYS.under(merged.merge.path),
        "catalogue": key_names.catalogue(TAP),
        "lake document": key_names.LAKE_DOCUMENT,
    }


@dataclass
class Outcome:
    """How often a reader named the object, raised otherwise, gave the same, or gave another."""

    counts: Counter[str]

    @property
    def others(self) -> Counter[str]:
        return Counter({what: n for what, n in self.counts.items() if what != "named"})


def flips(size: int, most: int) -> list[tuple[int, int]]:
    """Positions and bits: all, or a seeded sample that has every byte where there is room."""
    chance = random.Random(SEED)
    if most >= size * 8:
        return [(at, bit) for at in range(size) for bit in range(8)]
    every = [(at, chance.randrange(8)) for at in range(size)]
    return every if len(every) <= most else chance.sample(every, most)


def tried(store: Store, key: str, reader: str, most: int, since: int = 0) -> Outcome:
    read = READERS[reader]
    root, data = store.url, store.read(key).data
    whole = read(root, since)
    counts: Counter[str] = Counter()
    for at, bit in flips(len(data), most):
        flipped = bytearray(data)
        flipped[at] ^= 1 << bit
        overwrite(store, key, bytes(flipped))
        try:
            counts["the same" if read(root, since) == whole else "another"] += 1
        except (SingerlakeError, Found) as error:
            counts["named" if key in str(error) else "not named"] += 1
        finally:
            overwrite(store, key, data)
    assert read(root, since) == whole
    return Outcome(counts)


FOUND_BY_ALL = ("data file", "merged data file", "manifest", "segment", "catalogue")
MOST = scaled(250, 1 << 30)


def line(what: str) -> Line:
    return Line(SUITE, what, f"{__name__.replace('.', '/')}.py")


def keep(row: Line, outcome: Outcome, allowed: int = 0) -> None:
    row.runs = row.faults = outcome.counts.total()
    row.violations = outcome.others.total() - allowed
    row.keep()


@pytest.mark.timeout(scaled(120, 3600))
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", FOUND_BY_ALL)
def test_a_flipped_bit_is_found_and_the_object_named(store: Store, kind: str, reader: str) -> None:
    row = line(f"{kind}, by {reader}")
    outcome = tried(store, objects(store)[kind], reader, MOST)
    keep(row, outcome)
    assert not outcome.others


@pytest.mark.timeout(scaled(120, 3600))
@pytest.mark.parametrize("reader", READERS)
def test_a_merge_document_is_verified_by_whoever_needs_it(store: Store, reader: str) -> None:
    """The tap and Spark need it where a bookmark is inside a merged file."""
    row = line(f"merge document, by {reader}")
    outcome = tried(store, objects(store)["merge document"], reader, MOST, since=INSIDE)
    keep(row, outcome)
    assert not outcome.others


@pytest.mark.timeout(scaled(120, 3600))
@pytest.mark.parametrize("reader", ["tap", "Spark"])
def test_a_part_of_a_merged_file_is_verified_as_a_whole(store: Store, reader: str) -> None:
    """Also where a flip is in lines that are not wanted."""
    row = line(f"merged data file, read in part, by {reader}")
    outcome = tried(store, objects(store)["merged data file"], reader, MOST, since=INSIDE)
    keep(row, outcome)
    assert not outcome.others


@pytest.mark.timeout(scaled(120, 3600))
@pytest.mark.parametrize("reader", READERS)
def test_the_lake_document_is_peoples_own(store: Store, reader: str) -> None:
    """A flip in it is found where it breaks the document or the name of a tap, which the tap then
    says it does not know. It never changes what is read: at worst a word in an annotation, and
    nothing can tell that from an edit. Spark, which was told the tap, does not read it."""
    row = line(f"lake document, by {reader}")
    outcome = tried(store, key_names.LAKE_DOCUMENT, reader, MOST)
    row.bounds = f"{outcome.counts['the same']} not found: letters that people may edit"
    keep(row, outcome, allowed=outcome.counts["the same"] + outcome.counts["not named"])
    assert "another" not in outcome.counts
    if reader == "check":
        assert outcome.counts["named"] > outcome.counts.total() / 2


@pytest.mark.timeout(scaled(120, 3600))
def test_a_flipped_bit_in_a_lock_costs_a_wait_at_most(store: Store) -> None:
    """It has no checksum: whatever it says, it turns stale, and readers do not look at it."""
    row = line("lock of a dead writer, by the next writer")
    row.bounds = "none named: what is read is right, and the next writer commits"
    lock = LockRecord("dead", EPOCH, EPOCH)
    data, key = lock_record.encode(lock), lock_key()
    for number, (at, bit) in enumerate(flips(len(data), scaled(40, 1 << 30))):
        flipped = bytearray(data)
        flipped[at] ^= 1 << bit
        copy = copy_of(store)
        copy.create(key, bytes(flipped))
        land(copy, [1000 + number], times=QUICK)
        assert numbers_in(copy) == [*numbers_in(store), 1000 + number]
        row.runs += 1
    row.faults = row.runs
    row.keep()


def without_checksum(
    store: Store, key: str, name: FileName, size: int, checksum: str, at_most: int
) -> Iterator[bytes]:
    """The manifest's, and the digits of it in the file's name."""
    return blocks(store, key, replace(name, suffix=""), size, "", at_most)


def unverified(store: Store, keys: StreamKeys, segment: manifests.Segment) -> Any:
    return manifests.decode_segment(store.read(keys.under(segment.path)).data, "")


UNCHECKED = {
    "data file": (source, "blocks", without_checksum),
    "manifest": (document, "require_seal", lambda *_: None),
    "catalogue": (document, "require_seal", lambda *_: None),
    "segment": (log, "read_segment", unverified),
}


@pytest.mark.parametrize("kind", UNCHECKED)
def test_control_without_its_checksum_flips_go_unnoticed(store: Store, kind: str) -> None:
    """What each checksum is for: a reader without it gives other data, or the same unawares."""
    where, name, value = UNCHECKED[kind]
    row = line(f"control: {kind} without its checksum")
    key = objects(store)[kind]
    with mock.patch.object(where, name, value):
        outcome = tried(store, key, "tap", 400)
    row.runs = row.faults = outcome.counts.total()
    row.control(outcome.counts["the same"] + outcome.counts["another"] > 0)
