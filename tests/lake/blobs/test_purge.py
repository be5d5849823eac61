"""Purging bytes that nothing names, and what keeps a purge from those that are being put."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import BusyError, CorruptFile
from singerlake.format import blob_keys
from singerlake.lake import WriterOptions, check, clock, open_on
from singerlake.lake.blobs import purge as purges
from singerlake.lake.blobs import removal
from singerlake.lake.purging import purge
from singerlake.store import LocalStore, Store
from tests.faults.files import CONTENT, PATH, SCHEMA, put, put_line, staged
from tests.lake.faulty_store import At, Gate, Hooked, Pausing
from tests.lake.landing import KEYS, QUICK, STREAM, TAP, codes, new_store

NOW = timedelta(0)
OTHER = b"other bytes"


def with_an_orphan() -> Store:
    store = new_store()
    put(store, 0, content=OTHER)
    store.create(KEYS.under(PATH), CONTENT)
    return store


def is_there(store: Store) -> bool:
    return any(row.key == KEYS.under(PATH) for row in store.list(KEYS.under("_files")))


def test_an_orphan_is_found_and_goes_after_its_grace_period() -> None:
    store = with_an_orphan()
    assert codes(check(store, times=QUICK)) == ["orphan-blob"]
    assert purge(store, KEYS) == []
    assert purge(store, KEYS, NOW) == [], "what no log names stays seven days in any case"
    assert purge(store, KEYS, NOW, abandoned=NOW, dry_run=True) == [KEYS.under(PATH)]
    assert is_there(store)
    assert purge(store, KEYS, NOW, abandoned=NOW) == [KEYS.under(PATH)]
    assert not is_there(store)
    assert codes(check(store, times=QUICK, deep=True)) == []
    assert purge(store, KEYS, NOW, abandoned=NOW) == []


def test_the_grace_period_is_by_the_stores_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is a year ahead removes nothing that was put just now."""
    store = with_an_orphan()
    real = clock.now()
    monkeypatch.setattr(clock, "now", lambda: real + timedelta(days=365))
    assert purge(store, KEYS, timedelta(days=7)) == []
    assert is_there(store)
    assert list(removal.listed(store, KEYS)) == []


def test_a_put_that_found_the_orphan_puts_it_again_where_a_purge_was_quicker() -> None:
    store = with_an_orphan()
    gate = Gate(At("replace", "manifest.json"))
    writing = threading.Thread(target=put, args=(Pausing(store, gate), 1))
    writing.start()
    gate.wait()
    assert purge(store, KEYS, NOW, abandoned=NOW) == []  # the Singer file is there, and names it
    gate.open()
    writing.join(60)
    assert is_there(store)
    assert codes(check(store, times=QUICK, deep=True)) == []


def test_the_same_before_the_singer_file_is_there() -> None:
    store = with_an_orphan()
    gate = Gate(At("create", ".singer.gz"))
    writing = threading.Thread(target=put, args=(Pausing(store, gate), 1))
    writing.start()
    gate.wait()
    assert purge(store, KEYS, NOW, abandoned=NOW) == [KEYS.under(PATH)]
    assert not is_there(store)
    gate.open()
    writing.join(60)
    assert is_there(store)
    assert codes(check(store, times=QUICK, deep=True)) == []


def test_a_put_waits_for_a_purge_that_is_at_work() -> None:
    store = with_an_orphan()
    gate = Gate(At("delete", PATH))
    purging = threading.Thread(
        target=purge, args=(Pausing(store, gate), KEYS, NOW), kwargs={"abandoned": NOW}
    )
    purging.start()
    gate.wait()
    waits = threading.Event()
    seen = Hooked(store, At("read", ".json", "/_removals/"), waits.set)
    writing = threading.Thread(target=put, args=(seen, 1))
    writing.start()
    assert waits.wait(60)
    gate.open()
    purging.join(60)
    writing.join(60)
    assert is_there(store)
    assert codes(check(store, times=QUICK, deep=True)) == []


def test_a_purge_that_died_holds_its_bytes_back_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    store = with_an_orphan()
    removal.announce(store, KEYS, "0" * 32, [PATH])
    with pytest.raises(BusyError, match="a purge announced that it removes these bytes"):
        put_soon(store, 1)
    put_soon(store, 2, content=b"bytes of its own")
    assert "removal" in codes_of_notes(store)
    purge(store, KEYS)
    assert list(removal.listed(store, KEYS)) != []
    monkeypatch.setattr(removal, "OVER", timedelta(seconds=-1))
    purge(store, KEYS)
    assert list(removal.listed(store, KEYS)) == []
    put_soon(store, 1)
    assert codes(check(store, times=QUICK, deep=True)) == []


def test_an_announcement_that_cannot_be_read_is_about_everything() -> None:
    store = with_an_orphan()
    store.create(KEYS.under(blob_keys.removal_path("0" * 32)), b"{")
    with pytest.raises(BusyError):
        put_soon(store, 1, content=b"bytes of its own")


def put_soon(store: Store, number: int, content: bytes = CONTENT) -> None:
    times = replace(QUICK, max_wait=0.2)
    lake = open_on(store, create=True)
    with lake.writer(TAP, options=WriterOptions(lock=times)) as writer:
        writer.write(SCHEMA)
        path = writer.attach(STREAM, staged(content)).path
        writer.write(put_line(number, path), as_it_is=True)


def codes_of_notes(store: Store) -> list[str]:
    return [finding.code for finding in check(store, times=QUICK).findings]


def test_a_purge_that_takes_too_long_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    store = with_an_orphan()
    monkeypatch.setattr(purges, "LONGEST", -1.0)
    assert purge(store, KEYS, NOW, abandoned=NOW) == []
    assert is_there(store)
    assert list(removal.listed(store, KEYS)) == []


def test_nothing_goes_where_a_file_that_may_name_it_cannot_be_read(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    put(store, 0, content=OTHER)
    put(store, 1)
    (path,) = (row.key for row in store.list("") if "-20260101T000001" in row.key)
    (tmp_path / path).write_bytes(b"not gzip")
    with pytest.raises(CorruptFile):
        purge(store, KEYS, NOW, abandoned=NOW)
    assert is_there(store)
    assert "orphan-blob" not in codes_of_notes(store)


def test_an_orphan_file_whose_bytes_are_gone_is_not_adopted() -> None:
    store = new_store()
    put(store, 0, content=OTHER)
    gate_at = At("replace", "manifest.json")

    class Stop(BaseException):
        pass

    class Stopping(Pausing):
        def around(self, method: str, key: str, call: object) -> object:  # type: ignore[override]
            if gate_at(method, key):
                raise Stop
            return call()  # type: ignore[operator]

    with pytest.raises(Stop):
        put(Stopping(store), 1)
    assert "orphan-file" in codes_of_notes(store)
    assert "orphan-blob" not in codes_of_notes(store), "the orphan names it"
    assert purge(store, KEYS, NOW, abandoned=NOW) == []
    store.delete(KEYS.under(PATH))
    found = [each for each in check(store, times=QUICK).findings if each.code == "orphan-corrupt"]
    assert len(found) == 1
    assert not found[0].fixable
    check(store, fix=True, times=QUICK)
    assert "blob-missing" not in codes_of_notes(store)
