"""`python -m tests.faults.processor_work FOLDER [VARIANT]`: a life of the embedded engine.

Events are added, handed out and acknowledged, some fail, some wait for their time, and a source
hands over its own. Each promise is printed when it is given; what is asked for is printed before,
because its answer may be lost. Variants are broken on purpose: a suite has to see them.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from singerlake.processor import Engine, open_engine
from singerlake.processor.engine.sqlite.database import Database
from singerlake.processor.engine.values import Grant, Item, Outcome, Slot, Terms
from singerlake.processor.event import decode_value, encode_value

ROUNDS = 6
SLOT, TERMS = Slot("w", 0), Terms(batch=2)
KEYS = ("a", "b")
SOURCE = "lake"
PAGES = 24
"""Of the write-ahead log, after which SQLite copies it to its file: so that a short life does."""

_VARIANTS = {"": "full", "normal": "normal", "unsynced": "full"}


def main(folder: Path, variant: str) -> None:
    _prepare(unsynced=variant == "unsynced")
    with open_engine(f"sqlite:///{folder}/work.db", synchronous=_VARIANTS[variant]) as engine:
        place = ""
        for turn in range(ROUNDS):
            for key in KEYS:
                for number in (2 * turn, 2 * turn + 1):
                    engine.add(key, [number, "x" * 700])
                    say("added", key, number)
            say("handing", turn)
            place_after = f"p{turn}"
            engine.hand_over(
                SOURCE, "s", place, place_after, [Item(encode_value([turn, "y" * 700]))]
            )
            place = place_after
            say("handed", turn)
            engine.add("later", turn, id=f"id{turn}", delay=3600)
            say("scheduled", f"id{turn}")
            if turn % 2:
                say("cancelling", f"id{turn - 1}")
                engine.cancel(f"id{turn - 1}")
                say("cancelled", f"id{turn - 1}")
            _work(engine, turn)


def _prepare(unsynced: bool) -> None:
    connect = Database.connect

    def changed(self: Database) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
        if unsynced:
            connection.execute("PRAGMA synchronous = OFF")
        return connection

    Database.connect = changed  # type: ignore[method-assign]


def _work(engine: Engine, turn: int) -> None:
    """Two grants: of the first all is acknowledged, of the other a part, or it fails."""
    grant = engine.turn(0, SLOT, TERMS).grant
    for what in ("rest", "dead" if turn == 3 else "later"):
        if grant is None:
            return
        say("token", grant.key, grant.token)
        done = grant.entries if what == "rest" else grant.entries[:1]
        for entry in done:
            say("acking", grant.key, number_of(entry.value))
        letter = grant.entries[-1] if what == "dead" and len(grant.entries) > 1 else None
        outcome = Outcome(
            grant.key,
            grant.token,
            "later" if what == "dead" and letter is None else what,  # type: ignore[arg-type]
            len(done),
            done[-1].position,
            error="no",
        )
        found = engine.turn(0, SLOT, TERMS, outcome, claim=what == "rest")
        for entry in done:
            say("acked", grant.key, number_of(entry.value))
        if letter is not None:
            say("dead", grant.key, number_of(letter.value))
        grant = found.grant


def say(*words: object) -> None:
    print(*words, flush=True)


def number_of(value: bytes) -> int:
    return int(decode_value(value)[0])


def broken_promises(promises: Sequence[str], folder: Path) -> list[str]:
    """What an image of the engine breaks: nothing, if all is well."""
    try:
        return _broken(promises, folder)
    except Exception as error:  # garbage may come out at any place
        return [f"the engine does not work: {type(error).__name__}: {error}"]


def _broken(promises: Sequence[str], folder: Path) -> list[str]:
    said = [one.split() for one in promises]

    def of(kind: str) -> set[tuple[str, ...]]:
        return {tuple(words[1:]) for words in said if words[0] == kind}

    with open_engine(f"sqlite:///{folder}/work.db", synchronous="normal") as engine:
        waiting = {
            (key, str(number_of(entry.value))) for key in (*KEYS, "s") for entry in engine.peek(key)
        }
        letters = {(one.key, str(number_of(one.entry.value))) for one in engine.dead()}
        scheduled = {(one.id,) for one in engine.scheduled()}
        place = int(engine.places(SOURCE).get("s", "p-1")[1:])
        added = of("added") | {("s", number) for (number,) in of("handed")}
        problems = [f"lost: {one}" for one in added - waiting - letters - of("acking")]
        problems += [f"comes again: {one}" for one in of("acked") & (waiting | letters)]
        problems += [f"no dead letter: {one}" for one in of("dead") - letters]
        problems += [
            f"not scheduled: {one}" for one in of("scheduled") - scheduled - of("cancelling")
        ]
        problems += [f"scheduled again: {one}" for one in of("cancelled") & scheduled]
        if any(place < int(number) for (number,) in of("handed")):
            problems.append(f"the source is back at {place}")
        handed = {("s", str(number)) for number in range(place + 1)}
        problems += [f"handed over in part: {one}" for one in handed - waiting - of("acking")]
        problems += [f"stranded: {one.key}" for one in engine.states() if one.stranded]
        return problems + _older_tokens(engine, of("token"))


def _older_tokens(engine: Engine, known: set[tuple[str, ...]]) -> list[str]:
    """Tokens of new holders that are not above all that were ever given for their keys."""
    found: list[Grant] = []
    for key in KEYS:
        engine.resume(key)
        engine.add(key, [99])
    while (grant := engine.turn(0, SLOT, TERMS).grant) is not None:
        found.append(grant)
    return [
        f"the token {one.token} of {one.key} is no newer"
        for one in found
        for key, token in known
        if key == one.key and one.token <= int(token)
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
