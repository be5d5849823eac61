"""A lake that is read-only: whoever would change it is refused, readers go on, and it stays so."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import CorruptDocument, NotALake, ReadOnly
from singerlake.files import forget, put
from singerlake.format.keys import LAKE_DOCUMENT
from singerlake.lake import Lake, Run, check, open_on, rebuild
from singerlake.lake import status as statuses
from singerlake.lake.lake import annotation, registry
from singerlake.lake.purging import purge
from singerlake.lake.restoring import restore
from singerlake.lake.runs import marking
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.lake.write_guard import LOOK_EVERY, WriteGuard, guarded, unguarded
from singerlake.store import Counting, LocalStore, MemoryStore, Store, open_store
from tests.lake.feed.clockwork import Clockwork
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    TAP,
    edit,
    land,
    land_each,
    lock_key,
    numbers_in,
    objects_in,
    options,
    overwrite,
    put_orphan,
    record_line,
    schema_line,
)
from tests.servers import S3Server

AT_ONCE = timedelta(0)


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(uuid.uuid4().hex)
    if request.param == "local":
        return LocalStore(tmp_path / "lake")
    server: S3Server = request.getfixturevalue("seaweedfs")
    return open_store(f"s3://{server.new_bucket()}/lake", server.storage_options())


def everything(store: Store) -> dict[str, bytes]:
    return {row.key: store.read(row.key).data for row in store.list("")}


def lake_with_work(store: Store) -> Lake:
    """Something for everybody: small files, merged ones, an orphan, a file of any kind, a pin."""
    land_each(store, [1, 2, 3])
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
    land_each(store, [4, 5, 6])
    put_orphan(store, 7)
    lake = open_on(store)
    lake.pin("before")
    return lake


def write(lake: Lake) -> None:
    with lake.writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        writer.write(record_line(100))


CHANGES: dict[str, Callable[[Lake], Any]] = {
    "land": write,
    "open to land": lambda lake: open_on(lake.store, create=True),
    "vacuum": lambda lake: vacuum(lake.store, KEYS, VacuumOptions(lock=PATIENT)),
    "purge": lambda lake: purge(lake.store, KEYS, AT_ONCE, abandoned=AT_ONCE),
    "check --fix": lambda lake: check(lake.store, fix=True, times=QUICK),
    "rebuild": lambda lake: rebuild(lake.store),
    "restore": lambda lake: restore(lake.store),
    "pin": lambda lake: lake.pin("another"),
    "unpin": lambda lake: lake.unpin("before"),
    "annotate": lambda lake: lake.annotate(TAP, {"owner": "somebody"}),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@changes
def test_every_change_is_refused_and_nothing_is_changed(
    store: Store, change: Callable[[Lake], Any]
) -> None:
    lake = lake_with_work(store)
    lake.set_read_only("moving to another bucket")
    before = everything(store)
    with pytest.raises(ReadOnly, match=r"read-only \(moving to another bucket\).*read-only --off"):
        change(open_on(store))
    assert everything(store) == before


@changes
def test_control_without_the_status_every_change_is_made(change: Callable[[Lake], Any]) -> None:
    store = MemoryStore(uuid.uuid4().hex)
    lake = lake_with_work(store)
    lake.set_read_only()
    lake.set_writable()
    change(open_on(store))


@changes
def test_control_without_the_guard_the_status_holds_nobody(
    change: Callable[[Lake], Any],
) -> None:
    store = MemoryStore(uuid.uuid4().hex)
    lake_with_work(store).set_read_only()
    change(Lake(store)) if change is not CHANGES["open to land"] else write(Lake(store))


def test_a_put_and_a_forget_are_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "lake")
    photo = tmp_path / "door.jpg"
    photo.write_bytes(b"door")
    (entry,) = put(open_on(store, create=True), [str(photo)], what="photos", where="camera-1")
    open_on(store).set_read_only()
    before = everything(store)
    with pytest.raises(ReadOnly):
        put(open_on(store), [str(photo)], what="photos", where="camera-1")
    with pytest.raises(ReadOnly):
        forget(open_on(store), "camera-1", "photos", [entry.id], apply=True)
    assert everything(store) == before
    assert forget(open_on(store), "camera-1", "photos", [entry.id])  # without apply it only tells


def test_readers_go_on(store: Store) -> None:
    lake = lake_with_work(store)
    lake.set_read_only()
    before = everything(store)
    reader = open_on(store)
    assert numbers_in(reader.store) == [1, 2, 3, 4, 5, 6]
    assert [pin.name for pin in reader.pins()] == ["before"]
    assert check(reader.store, times=QUICK).findings
    assert reader.feed().poll()
    assert everything(store) == before


class Working:
    """A writer at work in a lake, whose time stands still until a test moves it."""

    def __init__(self, store: Store) -> None:
        self.clock = Clockwork()
        lake = Lake(guarded(store, self.clock))
        self.writer = lake.writer(TAP, options=options())
        self.next = 0

    def commit(self) -> None:
        self.writer.write(schema_line())
        self.writer.write(record_line(self.next))
        self.next += 1
        self.writer.commit()


def test_a_writer_at_work_notices_within_five_minutes(store: Store) -> None:
    land(store, [])
    working = Working(store)
    working.commit()
    open_on(store).set_read_only()
    working.clock.seconds += LOOK_EVERY - 1
    working.commit()  # it has looked less than five minutes ago
    working.clock.seconds += 1
    with pytest.raises(ReadOnly):
        working.commit()
    working.writer.close()
    assert numbers_in(store) == [0, 1]
    assert lock_key() not in objects_in(store)
    open_on(store).set_writable()
    land(store, [2])
    assert numbers_in(store) == [0, 1, 2]


def test_a_lock_that_is_held_is_let_go(store: Store) -> None:
    store.create(lock_key(), b"mine")
    lake = open_on(store, create=True)
    lake.set_read_only()
    lake.store.delete_if(lock_key(), lake.store.version(lock_key()))
    with pytest.raises(ReadOnly):
        lake.store.create(lock_key(), b"again")


def test_to_look_costs_a_landing_no_request() -> None:
    def requests(opened: Callable[[Store], Lake]) -> Any:
        counting = Counting(MemoryStore(uuid.uuid4().hex))
        for first in range(3):
            with opened(counting).writer(TAP, options=options()) as writer:
                writer.write(schema_line())
                for number in range(5):
                    writer.write(record_line(5 * first + number))
                    writer.commit()
        return {name: count for name, count in counting.counts.items() if name != "promise"}

    def without_a_guard(store: Store) -> Lake:
        registry.register_taps(store, [])
        return Lake(store)

    assert requests(lambda store: open_on(store, create=True)) == requests(without_a_guard)


def test_one_that_looks_again_costs_one_request_in_five_minutes() -> None:
    store = Counting(MemoryStore(uuid.uuid4().hex))
    working = Working(store)
    working.commit()
    counts: list[int] = []
    for _ in range(4):
        store.reset()
        working.commit()
        counts.append(store.counts["read"])
        working.clock.seconds += LOOK_EVERY / 2
    working.writer.close()
    assert [count - counts[0] for count in counts] == [0, 0, 1, 0]


def test_another_process_looks_itself() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    here = open_on(store, create=True).store
    Lake(store).set_read_only()
    here.create("raw/x", b"")  # it has just looked
    there: Store = pickle.loads(pickle.dumps(here))
    with pytest.raises(ReadOnly):
        there.create("raw/y", b"")


def test_it_survives_every_rewrite_also_by_a_program_that_does_not_know_it() -> None:
    """Unguarded, these do what programs did before there was a status."""
    store = MemoryStore(uuid.uuid4().hex)
    land(store, [1])
    open_on(store).set_read_only("legal hold")
    registry.register_taps(store, ["another"])
    annotation.annotate(store, TAP, {"owner": "somebody"}, {})
    rebuild(store)
    check(store, fix=True, times=QUICK)
    body = json.loads(store.read(LAKE_DOCUMENT).data)
    assert (body["status"], body["status_reason"]) == ("read-only", "legal hold")
    assert {"another", TAP} <= body["taps"].keys()
    open_on(store).set_writable()
    assert json.loads(store.read(LAKE_DOCUMENT).data) == {
        name: value for name, value in body.items() if not name.startswith("status")
    }


def test_a_document_that_has_lost_its_taps_still_holds() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    land(store, [1])
    lake = open_on(store)
    lake.set_read_only()
    edit(store, LAKE_DOCUMENT, lambda body: body.pop("taps"))
    with pytest.raises(ReadOnly):
        rebuild(open_on(store).store)
    lake.set_writable()
    with pytest.raises(CorruptDocument):
        registry.read_lake_document(store)
    rebuild(open_on(store).store)
    assert [tap.tap_id for tap in open_on(store).taps()] == [TAP]


def test_a_document_that_cannot_be_read_at_all_holds_nobody() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    land(store, [1])
    overwrite(store, LAKE_DOCUMENT, b"{")
    rebuild(open_on(store).store)
    assert numbers_in(open_on(store).store) == [1]


def test_what_a_newer_program_has_set_is_no_leave_to_write() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    land(store, [1])
    edit(store, LAKE_DOCUMENT, lambda body: body.update(status="archived"))
    with pytest.raises(ReadOnly, match="archived, which this Singerlake does not know"):
        write(open_on(store))


def test_a_lake_without_a_document_cannot_be_set() -> None:
    with pytest.raises(NotALake):
        Lake(MemoryStore(uuid.uuid4().hex)).set_read_only()


def test_a_guard_stands_once() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    once = guarded(store)
    assert guarded(once) is once
    assert isinstance(once, WriteGuard)
    assert unguarded(once) is store is unguarded(store)
    assert statuses.read(once) == statuses.Status()


def test_a_correction_of_a_run_is_refused() -> None:
    store = MemoryStore(uuid.uuid4().hex)
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
    writer.end("ended")
    lake = open_on(store)
    lake.set_read_only()
    (run,) = lake.tap(TAP).runs()
    assert isinstance(run, Run)
    with pytest.raises(ReadOnly):
        marking.mark(lake.store, TAP, run.document, "failed", by="somebody")
