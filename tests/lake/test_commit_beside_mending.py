"""Commits while check or rebuild mend the log: each file has one entry, each segment is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singerlake.errors import OutcomeUnknown
from singerlake.format import manifest as manifests
from singerlake.lake import check, rebuild, uploads
from singerlake.store import Listed, Store
from tests.lake.faulty_store import (
    MANIFEST_REPLACE,
    At,
    Gate,
    Hooked,
    Intercepting,
    LosingAnswers,
    Lost,
    Pausing,
    in_thread,
)
from tests.lake.landing import (
    KEYS,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    assert_once_each,
    codes,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    put_orphan,
)

MENDERS: dict[str, Callable[[Store], Any]] = {
    "check --fix": lambda store: check(store, fix=True, times=QUICK),
    "rebuild": rebuild,
}


@pytest.mark.parametrize("mender", MENDERS)
def test_a_paused_writer_whose_file_was_adopted_finds_its_commit_done(mender: str) -> None:
    store = new_store()
    land(store, [0])
    gate = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    MENDERS[mender](store)
    assert numbers_in(store) == [0, 1]
    gate.open()
    (file,) = writer.result()
    assert file.sequence == 2
    assert_once_each(store, 2)
    assert_clean(store)


def test_a_paused_writer_whose_file_was_adopted_by_a_new_log_finds_its_commit_done() -> None:
    store = new_store()
    land_each(store, [0, 5])
    gate = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    store.delete(KEYS.manifest)
    rebuild(store)
    gate.open()
    (file,) = writer.result()
    assert file.sequence == 2  # numbered anew by the time of its records, before the last
    assert numbers_in(store) == [0, 1, 5]
    assert_clean(store)


def test_a_file_whose_writer_commits_while_check_adopts_it_has_one_entry() -> None:
    """The writer wakes up after the check saw its orphan, before the check adopts it."""
    store = new_store()
    land(store, [0])
    orphan = put_orphan(store, 7)
    gate = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    # Where the check opens an orphan, it has made up its mind that there are two.
    looking = Gate(At("open", orphan))
    checking = in_thread(check, Pausing(store, looking), fix=True, times=QUICK)
    looking.wait()
    gate.open()
    writer.result()
    looking.open()
    assert codes(checking.result()).count("orphan-file") == 2
    assert sorted(numbers_in(store)) == [0, 1, 7]
    assert_clean(store)


def test_a_file_whose_writer_commits_at_the_moment_of_its_adoption_has_one_entry() -> None:
    """The writer's commit lands between the adopter's read of the manifest and its put."""
    store = new_store()
    land(store, [0])
    put_orphan(store, 7)
    slow = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, slow), [1])
    slow.wait()
    adopting = Gate(MANIFEST_REPLACE)
    checking = in_thread(check, Pausing(store, adopting), fix=True, times=QUICK)
    adopting.wait()
    slow.open()
    writer.result()
    adopting.open()
    checking.result()
    assert sorted(numbers_in(store)) == [0, 1, 7]
    assert_clean(store)


def test_two_checks_that_adopt_the_same_orphans_at_once_give_each_one_entry() -> None:
    store = new_store()
    land(store, [0])
    put_orphan(store, 1)
    gates = [Gate(MANIFEST_REPLACE), Gate(MANIFEST_REPLACE)]
    checks = []
    for number, gate in enumerate(gates, start=2):
        checks.append(in_thread(check, Pausing(store, gate), fix=True, times=QUICK))
        gate.wait()
        put_orphan(store, number)  # the second check has one more to adopt than the first
    for gate, checking in zip(gates, checks, strict=True):
        gate.open()
        checking.result()
    check(store, fix=True, times=QUICK)
    assert sorted(numbers_in(store)) == [0, 1, 2, 3]
    assert_clean(store)


@pytest.mark.parametrize("mender", MENDERS)
def test_a_commit_to_a_log_that_cannot_be_read_whole_stays_in_it(
    mender: str, small_segments: None
) -> None:
    """A writer needs no old segment, so it goes on where one is missing: here, while those files
    are read from which the log is made again."""
    store = new_store()
    land_each(store, range(7))
    store.delete(next(key for key in objects_in(store) if "/_segments/" in key))
    hooked = Hooked(store, At("open", ".singer.gz"), lambda: land(store, [7]))
    MENDERS[mender](hooked)
    assert hooked.happened
    assert_once_each(store, 8)
    assert_clean(store)


class TwoPages(Intercepting):
    """A listing comes in two pages; between those of the second listing something happens."""

    def __init__(self, inner: Store, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner)
        self.listings, self._meanwhile = 0, meanwhile

    def list(self, prefix: str) -> Iterator[Listed]:
        if prefix != KEYS.folder:
            yield from super().list(prefix)
            return
        self.listings += 1
        yield from [row for row in self.inner.list(prefix) if "/_uploads/" not in row.key]
        if self.listings == 2:
            self._meanwhile()
        yield from [row for row in self.inner.list(prefix) if "/_uploads/" in row.key]


def test_a_rebuild_that_lists_again_adopts_no_file_that_a_job_removes_meanwhile() -> None:
    store = new_store()
    land_each(store, [0, 1])
    job, attempt = uploads.new_job(), put_orphan(store, 5)
    uploads.note(store, KEYS, job, attempt, "w", "r")

    def removed() -> None:
        store.delete(KEYS.under(attempt))
        for note in list(uploads.notes(store, KEYS, job)):
            store.delete(note.key)

    paged = TwoPages(store, removed)
    # A refused put makes the rebuild list once more.
    beside = Hooked(paged, At("list", "/_segments"), lambda: land(store, [2]))
    rebuild(beside, TAP, STREAM)
    assert beside.happened
    assert paged.listings == 2
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)


@pytest.mark.parametrize("mender", MENDERS)
def test_cleaning_segments_beside_a_writer_removes_none_that_its_commit_names(
    mender: str, small_segments: None
) -> None:
    store = new_store()
    land_each(store, range(4))
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")
    if mender == "rebuild":
        land_each(store, range(4, 6))
    busy = Gate(MANIFEST_REPLACE)
    writers = []

    def seals_a_segment() -> None:
        if mender == "check --fix":
            land(store, [4])
            writers.append(in_thread(land, Pausing(store, busy), [5]))
        else:
            writers.append(in_thread(land, Pausing(store, busy), [6]))
        busy.wait()

    hooked = Hooked(store, MANIFEST_REPLACE, seals_a_segment)
    MENDERS[mender](hooked)
    assert hooked.happened
    busy.open()
    for writer in writers:
        writer.result()
    assert_once_each(store, 6 if mender == "check --fix" else 7)
    assert not [code for code in codes(check(store, times=QUICK)) if code != "orphan-segment"]


def test_a_lost_answer_to_the_cleaning_of_segments_keeps_what_the_next_commit_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cleaner's own put seals a segment; a commit on top of it relies on that."""
    store = new_store()
    land_each(store, range(7))
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")
    monkeypatch.setattr(manifests, "FAN_OUT", 2)  # so that more than one segment is due
    faulty = LosingAnswers(
        store, Lost(MANIFEST_REPLACE, OutcomeUnknown, meanwhile=lambda: land(store, [7]))
    )
    check(faulty, fix=True, times=QUICK)
    assert faulty.happened == 1
    assert_once_each(store, 8)
    assert_clean(store)
