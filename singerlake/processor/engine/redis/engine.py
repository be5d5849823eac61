"""The engine on Redis or Valkey. The protocol is in the scripts; this sends them."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from singerlake.errors import BusyError, ConfigError, UnsupportedFormat
from singerlake.processor.engine.base import BACKLOG, Engine
from singerlake.processor.engine.redis import entry
from singerlake.processor.engine.redis.connection import Connection
from singerlake.processor.engine.redis.listener import RedisListener
from singerlake.processor.engine.values import (
    Counts,
    DeadLetter,
    Entry,
    Item,
    KeyState,
    Outcome,
    Scheduled,
    Slot,
    Terms,
    Turn,
)
from singerlake.runtime import REAL, Runtime

FORMAT = 1
CLUSTER_SHARDS = 8


class RedisEngine(Engine):
    """`namespace` keeps engines on one server apart. `shards` is fixed when the engine is first
    opened: 1, and 8 in a Cluster."""

    def __init__(
        self,
        url: str,
        namespace: str = "singerlake",
        shards: int | None = None,
        backlog: int = BACKLOG,
        runtime: Runtime = REAL,
        patience: float | None = None,
    ) -> None:
        self._connection = Connection(url, **({} if patience is None else {"patience": patience}))
        super().__init__(self._connection.url, backlog, runtime)
        self.shards = shards or (CLUSTER_SHARDS if self._connection.is_cluster else 1)
        self._prefixes = [f"{{{namespace}:{number}}}:".encode() for number in range(self.shards)]
        self._producers = threading.local()

    def open(self) -> None:
        for prefix in self._prefixes:
            found = self._connection.run("open", prefix, [FORMAT, self.shards])
            if int(found[0]) != FORMAT:
                raise UnsupportedFormat(
                    f"{self.url}: expected an engine of format {FORMAT}, found "
                    f"{found[0].decode()}; upgrade Singerlake, or choose another namespace"
                )
            if int(found[1]) != self.shards:
                raise ConfigError(
                    f"{self.url}: expected {self.shards} shards, found an engine that was made "
                    f"with {int(found[1])}; open it with shards={int(found[1])}, or choose another "
                    "namespace"
                )
        self._is_open = True

    def close(self) -> None:
        self._is_open = False
        self._connection.close()

    def shard_of(self, key: str) -> int:
        return zlib.crc32(_bytes(key)) % self.shards

    def _prefix(self, key: str) -> bytes:
        return self._prefixes[self.shard_of(key)]

    # Adding

    def append(self, key: str, items: Sequence[Item], ttl: float) -> bool:
        producer = self._producers
        if not hasattr(producer, "id"):  # requests of one thread come one after the other
            producer.id, producer.count = self.runtime.new_id(), 0
        producer.count += 1
        id = items[0].id if len(items) == 1 else ""
        args = [_bytes(key), producer.id, producer.count, id, _ms(ttl), self.backlog]
        found = self._connection.run("add", self._prefix(key), [*args, *map(entry.tail, items)])
        return bool(found != b"full")

    def schedule(self, key: str, item: Item, when: float, ttl: float, relative: bool) -> bool:
        # By its id: `cancel` knows no key. So the key's own shard is not where the event waits.
        kind = "delay" if relative else "at"
        args = [_bytes(key), item.id, kind, _ms(when), _ms(ttl), entry.tail(item)]
        return bool(self._connection.run("schedule", self._prefix(key), args))

    def cancel(self, id: str) -> bool:
        return any(self._connection.run("cancel", prefix, [id]) for prefix in self._prefixes)

    def hand_over(
        self, name: str, key: str, before: str, after: str, items: Sequence[Item]
    ) -> str | None:
        args = [name, _bytes(key), before, after, self.backlog, *map(entry.tail, items)]
        status, place = self._connection.run("hand_over", self._prefix(key), args)
        return None if status == b"full" else _text(place)

    def places(self, name: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for prefix in self._prefixes:
            rows = self._hash(prefix + b"place:" + _bytes(name))
            found |= {_text(key): _text(place) for key, place in rows.items()}
        return found

    # Processing

    def turn(
        self,
        shard: int,
        slot: Slot,
        terms: Terms,
        outcome: Outcome | None = None,
        *,
        claim: bool = True,
        sweep: bool = True,
        announce: bool = False,
    ) -> Turn:
        flags = "c" * claim + "s" * sweep + "w" * announce + "o" * terms.has_own_line
        share = -(-terms.limit // self.shards)
        head = [slot.name, slot.client, _ms(terms.lease), _ms(terms.sticky)]
        head += [_ms(terms.idle_timeout), terms.batch, terms.max_deliveries, terms.on_dead]
        head += ["most" if terms.at_most_once else "least", share]
        end = _outcome(outcome, terms.sticky)
        sent_again = False

        def args(again: bool) -> list[Any]:
            nonlocal sent_again
            sent_again = again
            return [*head, flags + "a" * again, *end]

        status, wait, row = self._connection.run_with("turn", self._prefixes[shard], args)
        # An outcome that is sent again may find that it was applied: that is no loss.
        lost = status == b"lost" and not sent_again
        return Turn(entry.grant(row), lost, None if wait < 0 else wait / 1000)

    def renew(
        self, shard: int, client: str, terms: Terms, held: Mapping[str, int]
    ) -> Sequence[str]:
        pairs = [part for key, token in held.items() for part in (_bytes(key), token)]
        args = [client if terms.has_own_line else "", _ms(terms.lease), *pairs]
        return [_text(key) for key in self._connection.run("renew", self._prefixes[shard], args)]

    def progress(self, key: str, token: int, position: int, progress: bytes) -> bool:
        args = [_bytes(key), token, position, progress]
        return bool(self._connection.run("progress", self._prefix(key), args))

    def listener(self, client: str) -> RedisListener:
        return RedisListener(
            self._connection, [b"%bwake:%b" % (p, _bytes(client)) for p in self._prefixes]
        )

    # Looking

    def states(self) -> Iterator[KeyState]:
        for prefix in self._prefixes:
            pattern = prefix.replace(b"[", b"\\[") + b"k:*"
            for found in _pieces(self._connection.client.scan_iter(pattern, 500), 200):
                names = [name[len(prefix) + 2 :] for name in found]
                yield from self._look(prefix, names)

    def look(self, key: str) -> KeyState:
        return self._look(self._prefix(key), [_bytes(key)])[0]

    def _look(self, prefix: bytes, names: Sequence[bytes]) -> list[KeyState]:
        now, rows = self._connection.run("look", prefix, names)
        return [entry.key_state(_text(n), now, row) for n, row in zip(names, rows, strict=True)]

    def peek(self, key: str, count: int = 10) -> Sequence[Entry]:
        queue = self._prefix(key) + b"q:" + _bytes(key)
        rows = self._ask("lrange", queue, 0, count - 1)
        return [entry.parse(row) for row in rows]

    def counts(self) -> Counts:
        ready = leased = dead = scheduled = 0
        oldest = 0.0
        for prefix in self._prefixes:
            ready += self._ask("zcard", prefix + b"ready")
            leased += self._ask("zcard", prefix + b"leases")
            dead += self._ask("hlen", prefix + b"dead")
            scheduled += self._ask("hlen", prefix + b"scheduled")
            first = self._ask("zrange", prefix + b"ready", 0, 0)
            for state in self._look(prefix, first) if first else ():
                if state.head is not None:
                    oldest = max(oldest, self.runtime.now().timestamp() - state.head.added)
        return Counts(ready, leased, scheduled, dead, max(oldest, 0.0))

    def _ask(self, command: str, *args: Any) -> Any:
        return self._connection.ask(lambda client: getattr(client, command)(*args))

    # Looking after

    def pause(self, key: str, reason: str) -> None:
        self._manage("pause", key, reason)

    def resume(self, key: str) -> bool:
        return self._manage("resume", key)

    def redrive(self, key: str, position: int) -> bool:
        return self._manage("redrive", key, str(position))

    def drop(self, key: str, position: int) -> bool:
        return self._manage("drop", key, str(position))

    def _manage(self, action: str, key: str, extra: str = "") -> bool:
        found = self._connection.run("manage", self._prefix(key), [action, _bytes(key), extra])
        if found == b"leased":
            raise BusyError(
                f"{self.url}: key {key!r} is being processed; pause it, or try again later"
            )
        return bool(found)

    def dead(self) -> Sequence[DeadLetter]:
        found = [
            entry.dead_letter(field, data)
            for prefix in self._prefixes
            for field, data in self._hash(prefix + b"dead").items()
        ]
        return sorted(found, key=lambda letter: letter.at)

    def scheduled(self) -> Sequence[Scheduled]:
        found = []
        for prefix in self._prefixes:
            rows = self._hash(prefix + b"scheduled")
            due = prefix + b"due"
            for id, data in rows.items():
                moment = self._ask("zscore", due, b"s" + id)
                if moment is not None:
                    key, value = entry.scheduled_key(data)
                    found.append(Scheduled(_text(id), key, moment / 1000, value))
        return sorted(found, key=lambda one: one.due)

    def _hash(self, name: bytes) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self._ask("hgetall", name)
        return found


def _outcome(outcome: Outcome | None, sticky: float) -> list[Any]:
    if outcome is None:
        return ["", "", "", 0, "", 0, "", "", "", "", 0]
    keeps = outcome.state is not None
    return [
        _bytes(outcome.key),
        outcome.token,
        outcome.position if outcome.done else "",
        outcome.done,
        outcome.what,
        _ms(outcome.delay),
        _bytes(outcome.error[:1000]),
        "1" if keeps else "",
        outcome.state if keeps else "",
        "1" if outcome.singly else "",
        _ms(sticky if outcome.sticky is None else outcome.sticky),
    ]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _pieces(names: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    piece: list[bytes] = []
    for name in names:
        piece.append(name)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece
