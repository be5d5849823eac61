"""The published document: one put, once, whatever the store answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singerlake.errors import (
    CommitConflict,
    CorruptDocument,
    DamageError,
    OutcomeUnknown,
)
from singerlake.lake import clock
from singerlake.projection.cleanup import clean
from singerlake.projection.document import (
    Published,
    PublishedFile,
    PublishedKeys,
    Settings,
    decode,
    new_run_id,
    successor,
)
from singerlake.projection.publication import (
    PublishedHead,
    put,
    read_published_head,
    require_staged,
)
from singerlake.store import Store, StoreWrapper
from tests.lake.calendar import Calendar
from tests.lake.landing import new_store

KEYS = PublishedKeys("tap/x", "..")
DAY = timedelta(days=1)
NO_COLUMNS = {"type": "struct", "fields": []}


def version(store: Store, sequence: int = 1, content: bytes = b"rows") -> Published:
    """What a run would publish that has staged one file."""
    now = clock.now()
    run_id = new_run_id(now)
    path = f"data/{run_id}/00000-x.parquet"
    store.create(KEYS.under(path), content)
    file = PublishedFile(
        path=path, records=1, bytes=len(content), checksum="", since=sequence - 1, until=sequence
    )
    return Published(
        tap_id=KEYS.tap_id,
        stream=KEYS.stream,
        version=1,
        run_id=run_id,
        published=now,
        settings=Settings(format="parquet", mode="append"),
        log_id="log",
        sequence=sequence,
        schema=NO_COLUMNS,
        schemas=(NO_COLUMNS,),
        files=(file,),
    )


def publish(store: Store, made: Published, appends: bool = True) -> Published:
    head = read_published_head(store, KEYS)
    new = successor(head.published, made, appends=appends, grace=DAY)
    put(store, KEYS, head, new)
    return new


class LosingAnswers(StoreWrapper):
    """The first puts get no answer; they are applied, or not."""

    def __init__(self, inner: Store, losses: int, applied: bool) -> None:
        super().__init__(inner)
        self.losses, self._applied = losses, applied

    def create(self, key: str, data: Any) -> str:
        return self._lose(lambda: self.inner.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._lose(lambda: self.inner.replace(key, data, version))

    def _lose(self, write: Callable[[], str]) -> str:
        if not self.losses:
            return write()
        self.losses -= 1
        if self._applied:
            write()
        raise OutcomeUnknown("no answer")


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_lost_answer_publishes_once(applied: bool, earlier: int) -> None:
    store = new_store()
    for number in range(earlier):
        publish(store, version(store, number + 1))
    made = version(store, earlier + 1)
    publish(LosingAnswers(store, losses=1, applied=applied), made)
    found = read_published_head(store, KEYS).published
    assert found is not None
    assert (found.run_id, found.version) == (made.run_id, earlier + 1)
    assert [file.until for file in found.files] == list(range(1, earlier + 2))


def test_a_lost_answer_of_a_run_that_another_added_to_is_no_conflict() -> None:
    store = new_store()
    publish(store, version(store))

    class Overtaken(StoreWrapper):
        def replace(self, key: str, data: bytes, version_: str) -> str:
            self.inner.replace(key, data, version_)
            publish(self.inner, version(store, 3))
            raise OutcomeUnknown("no answer")

    made = version(store, 2)
    publish(Overtaken(store), made)
    found = read_published_head(store, KEYS).published
    assert found is not None
    assert (found.version, [file.until for file in found.files]) == (3, [1, 2, 3])


def test_a_run_that_was_overtaken_publishes_nothing() -> None:
    store = new_store()
    old = read_published_head(store, KEYS)
    winner = publish(store, version(store))
    with pytest.raises(CommitConflict, match=winner.run_id):
        put(store, KEYS, old, version(store))
    with pytest.raises(CommitConflict):
        put(store, KEYS, PublishedHead(winner, "another version"), version(store))
    assert read_published_head(store, KEYS).published == winner


def test_a_document_that_is_not_ours_is_refused() -> None:
    store = new_store()
    store.create(KEYS.document, b"{}")
    with pytest.raises(CorruptDocument, match="--full"):
        read_published_head(store, KEYS)


def test_a_flipped_bit_in_the_document_is_refused() -> None:
    """A digit that turned into another would publish records again, or leave some out."""
    store = new_store()
    publish(store, version(store))
    data = store.read(KEYS.document).data
    for place in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        with pytest.raises(CorruptDocument):
            decode(bytes(flipped), KEYS.document)


def test_files_must_be_staged_whole() -> None:
    store = new_store()
    made = version(store)
    require_staged(store, KEYS, made.files)
    store.delete(KEYS.under(made.files[0].path))
    with pytest.raises(DamageError):
        require_staged(store, KEYS, made.files)
    store.create(KEYS.under(made.files[0].path), b"row")
    with pytest.raises(DamageError):
        require_staged(store, KEYS, made.files)


def test_only_what_no_version_names_is_removed_and_not_too_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calendar, store = Calendar(monkeypatch), new_store()
    first = publish(store, version(store))
    assert clean(store, KEYS, timedelta.max) == 0
    second = publish(store, version(store, 2))
    replaced = publish(store, version(store, 3), appends=False)
    died = version(store, 4)
    assert len(second.files) == 2
    assert {row.run_id for row in replaced.retired} == {first.run_id, second.run_id}
    assert clean(store, KEYS, DAY) == 0
    calendar.pass_days(2)
    assert clean(store, KEYS, 3 * DAY) == 0
    assert clean(store, KEYS, DAY) == 3
    left = {KEYS.path(row.key) for row in store.list(KEYS.data)}
    assert left == {file.path for file in replaced.files}
    assert died.files[0].path not in left


def test_a_clean_up_by_a_clock_that_is_ahead_leaves_a_run_under_way_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    publish(store, version(store))
    under_way = version(store, 2)
    before = {row.key for row in store.list(KEYS.data)}
    with monkeypatch.context() as ahead:
        ahead.setattr(clock, "now", lambda: datetime.now(timezone.utc) + 2 * DAY)
        assert clean(store, KEYS, DAY) == 0
    assert {row.key for row in store.list(KEYS.data)} == before
    require_staged(store, KEYS, under_way.files)


def test_a_retired_run_is_remembered_for_the_grace_period_only() -> None:
    store = new_store()
    publish(store, version(store))
    replaced = publish(store, version(store), appends=False)
    soon = successor(replaced, version(store), appends=True, grace=DAY)
    assert soon.retired == replaced.retired
    assert successor(replaced, version(store), appends=True, grace=timedelta(0)).retired == ()
