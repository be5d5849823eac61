"""A trial: what a store really does with our requests, found out on objects of our own.

A store's documentation is one thing, a proxy, a gateway or a mount in between another. So every
promise that the lake builds on is put to the test, conditional writes in races too.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Literal

from singerlake.errors import AlreadyExists, Changed, SingerlakeError
from singerlake.store import race
from singerlake.store.base import Promise, Store
from singerlake.store.race import Compete, Race

THREADS = 8
ROUNDS = 5
"""Races: one that nobody loses by chance is followed by others."""

SKEW = timedelta(seconds=5)
"""How far two clocks may be apart without a word: some stores tell whole seconds."""

Status = Literal["ok", "weak", "failed"]


@dataclass(frozen=True)
class Answer:
    """What came out. `weak`: less than the lake could use, and it knows how to live with it."""

    what: str
    status: Status
    told: str


class _Wrong(Exception):
    """The store answered, and the answer is not what was promised."""


def trial(store: Store, rounds: int = ROUNDS, *, processes: int | None = None) -> Iterator[Answer]:
    """Try it all out, in a folder `singerlake-doctor-…` below the root, which is removed again.

    So many processes race, as writers would; without a number it is threads of this one, which
    every store can have.
    """
    folder = f"singerlake-doctor-{uuid.uuid4().hex}"
    written = _answer("write", lambda: _write(store, folder))
    yield written
    if written.status != "ok":
        return
    try:
        yield _answer("read back", lambda: _read(store, folder))
        yield _answer("list", lambda: _list(store, folder))
        yield _answer("clock", lambda: _clock(store, folder))
        # Before the promise: a folder is tried anew, whatever was found out before.
        yield _answer("oddities", lambda: _oddities(store), "weak")
        promised = _answer("promise", lambda: _promise(store), "weak")
        yield promised
        weak: Status = "weak" if promised.status == "weak" else "failed"
        yield _answer("create if absent", lambda: _create(store, folder))
        yield _answer("replace if unchanged", lambda: _replace(store, folder))
        yield _answer("delete if unchanged", lambda: _delete(store, folder))
        yield from _races(store, folder, processes, rounds, weak)
    finally:
        removed = _answer("remove", lambda: _remove(store, folder))
    yield removed


def _races(
    store: Store, folder: str, processes: int | None, rounds: int, weak: Status
) -> Iterator[Answer]:
    """Who races starts once, for both kinds."""

    def run(compete: Compete, racers: str) -> Iterator[Answer]:
        yield _answer(
            "race to create", lambda: _race_to_create(compete, racers, folder, rounds), weak
        )
        yield _answer(
            "race to replace",
            lambda: _race_to_replace(store, compete, racers, folder, rounds),
            weak,
        )

    if processes is None:
        yield from run(race.threads(store, THREADS), f"{THREADS} threads")
        return
    try:
        with race.processes(store, processes) as compete:
            yield from run(compete, f"{processes} processes")
    except SingerlakeError as error:
        yield Answer("race", "failed", str(error))


def _answer(what: str, attempt: Callable[[], str], wrong: Status = "failed") -> Answer:
    try:
        return Answer(what, "ok", attempt())
    except _Wrong as error:
        return Answer(what, wrong, str(error))
    except SingerlakeError as error:
        return Answer(what, "failed", str(error))


def _write(store: Store, folder: str) -> str:
    store.create(f"{folder}/object", b"1")
    return "an object was created"


def _read(store: Store, folder: str) -> str:
    _require(store.read(f"{folder}/object").data == b"1", "the object that was read is another")
    return "it is what was written"


def _list(store: Store, folder: str) -> str:
    found = [row.key for row in store.list(folder)]
    _require(found == [f"{folder}/object"], f"a listing shows {found}, not the new object")
    return "the new object is there at once"


def _clock(store: Store, folder: str) -> str:
    before = datetime.now(timezone.utc)
    store.create(f"{folder}/clock", b"")
    after = datetime.now(timezone.utc)
    times = {row.key: row.modified for row in store.list(folder)}
    store.delete(f"{folder}/clock")
    modified = times.get(f"{folder}/clock")
    if modified is None or modified.year < 2000:
        return "the store does not tell its own"
    ahead = max(modified - after, min(modified - before, timedelta(0)))
    direction = "ahead of" if ahead > timedelta(0) else "behind"
    _require(
        abs(ahead) <= SKEW,
        f"the store's is {abs(ahead).total_seconds():.0f} s {direction} ours: set the clock here, "
        "or left-overs are cleaned up too early or too late",
    )
    return "the store's and ours agree"


def _promise(store: Store) -> str:
    _require(
        store.promise() is Promise.CONDITIONAL,
        "conditions are best effort here: let one writer at a time write a stream, see "
        "docs/spec.md#weak-stores",
    )
    return "the store itself refuses a write whose condition does not hold"


def _oddities(store: Store) -> str:
    found = store.oddities()
    _require(not found, "; ".join(found))
    return "none was met"


def _create(store: Store, folder: str) -> str:
    refused = _refused(lambda: store.create(f"{folder}/object", b"2"))
    _require(refused, "an object that existed was overwritten")
    return "a second one is refused"


def _replace(store: Store, folder: str) -> str:
    key = f"{folder}/object"
    old = store.read(key).version  # as a commit does: a HEAD may have another ETag
    _require(
        not _refused(lambda: store.replace(key, b"2", old)),
        "the version that a read gave is refused, so that no commit can succeed: something before "
        "the store changes ETags on their way",
    )
    _require(
        _refused(lambda: store.replace(key, b"3", old)), "a newer version was overwritten unseen"
    )
    return "a newer version is not overwritten"


def _delete(store: Store, folder: str) -> str:
    key = f"{folder}/object"
    old = store.version(key)
    store.replace(key, b"4", old)
    _require(_refused(lambda: store.delete_if(key, old)), "a newer version was deleted unseen")
    for listed in list(store.list(folder)):  # as a purge does
        _require(
            not _refused(partial(store.delete_if, key, listed.version)),
            "the version that a listing gave is refused, so that a purge deletes nothing",
        )
        store.create(key, b"5")
    return "a newer version is not deleted"


def _race_to_create(compete: Compete, racers: str, folder: str, rounds: int) -> str:
    for number in range(rounds):
        _require_one(compete(Race(f"{folder}/race-{number}")), racers, "created the same object")
    return f"of {racers} one wins, {rounds} times"


def _race_to_replace(store: Store, compete: Compete, racers: str, folder: str, rounds: int) -> str:
    key = f"{folder}/object"
    for _ in range(rounds):
        _require_one(compete(Race(key, store.version(key))), racers, "replaced the same version")
    return f"of {racers} one wins, {rounds} times"


def _require_one(winners: int, racers: str, did: str) -> None:
    _require(winners == 1, f"{winners} of {racers} {did}, each believing to be the only one")


def _remove(store: Store, folder: str) -> str:
    for row in list(store.list(folder)):
        store.delete(row.key)
    _require(not list(store.list(folder)), "objects that were deleted are still listed")
    return "the objects of this trial are gone"


def _refused(request: Callable[[], object]) -> bool:
    try:
        request()
    except (AlreadyExists, Changed):
        return True
    return False


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Wrong(otherwise)
