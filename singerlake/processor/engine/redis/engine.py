"""The engine on Redis or Valkey. The protocol is in the scripts; this sends them."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from singerlake.errors import BusyError, ConfigError, UnsupportedFormat
from singerlake.processor.engine.base import BACKLOG, Engine
from singerlake.processor.engine.redis import entry
from singerlake.processor.engine.redis.connection import PATIENCE, Connection
from singerlake.processor.engine.redis.listener import RedisListener
from singerlake.processor.engine.redis.packing import (
    as_bytes,
    as_ms,
    as_text,
    head_of,
    outcome_of,
    pieces,
)
from singerlake.processor.engine.values import (
    Counts,
    DeadLetter,
    Entry,
    Grant,
    Item,
    KeyState,
    Outcome,
    Scheduled,
    Slot,
    Terms,
    Turn,
    require_reason,
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
        self._connection = Connection(url, PATIENCE if patience is None else patience, runtime)
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
        return zlib.crc32(as_bytes(key)) % self.shards

    def _prefix(self, key: str) -> bytes:
        return self._prefixes[self.shard_of(key)]

    # Adding

    def append(self, key: str, items: Sequence[Item], ttl: float) -> bool:
        id = items[0].id if len(items) == 1 else ""
        args = [as_bytes(key), *self._request(), id, as_ms(ttl), self.backlog]
        found = self._connection.run("add", self._prefix(key), [*args, *map(entry.tail, items)])
        return bool(found != b"full")

    def _request(self) -> tuple[str, int]:
        """A name for the next request: sent again after a lost answer, it has the same."""
        producer = self._producers
        if not hasattr(producer, "id"):  # requests of one thread come one after the other
            producer.id, producer.count = self.runtime.new_id(), 0
        producer.count += 1
        return producer.id, producer.count

    def schedule(self, key: str, item: Item, when: float, ttl: float, relative: bool) -> bool:
        kind = "delay" if relative else "at"
        args = [as_bytes(key), item.id, kind, as_ms(when), as_ms(ttl), entry.tail(item)]
        return bool(self._connection.run("schedule", self._prefix(key), args))

    def cancel(self, id: str) -> bool:
        args = [id, *self._request()]
        return any(self._connection.run("cancel", prefix, args) for prefix in self._prefixes)

    def hand_over(
        self, name: str, key: str, before: str, after: str, items: Sequence[Item]
    ) -> str | None:
        args = [name, as_bytes(key), before, after, self.backlog, *map(entry.tail, items)]
        status, place = self._connection.run("hand_over", self._prefix(key), args)
        return None if status == b"full" else as_text(place)

    def places(self, name: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for prefix in self._prefixes:
            rows = self._hash(prefix + b"place:" + as_bytes(name))
            found |= {as_text(key): as_text(place) for key, place in rows.items()}
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
        sent_again = False
        is_plain = outcome is not None and outcome.expects_more and outcome.state is None
        if outcome is not None and is_plain and claim and not sweep and not terms.at_most_once:
            grant, sent_again = self._more(shard, terms, outcome)
            if grant is not None:
                return Turn(grant)
        flags = "c" * claim + "s" * sweep + "w" * announce + "o" * terms.has_own_line
        head = head_of(slot, terms, self.shards)
        end = outcome_of(outcome, terms.sticky)

        def args(again: bool) -> list[Any]:
            nonlocal sent_again
            sent_again = sent_again or again
            return [*head, flags + "a" * sent_again, *end]

        status, wait, row, expired = self._connection.run_with("turn", self._prefixes[shard], args)
        # An outcome that is sent again may find that it was applied: that is no loss.
        lost = status == b"lost" and not sent_again
        return Turn(entry.grant(row), lost, None if wait < 0 else wait / 1000, expired)

    def _more(self, shard: int, terms: Terms, outcome: Outcome) -> tuple[Grant | None, bool]:
        """More events of the same key, if nothing is out of the ordinary; and whether this was sent
        again."""
        sent_again = False
        values = [as_bytes(outcome.key), outcome.token, outcome.position, outcome.done, terms.batch]

        def args(again: bool) -> list[Any]:
            nonlocal sent_again
            sent_again = again
            return values

        if not outcome.done:
            return None, False
        found = self._connection.run_with("more", self._prefixes[shard], args)
        if found is None:
            return None, sent_again
        value, more, *rows = found
        entries = tuple(map(entry.parse, rows))
        grant = Grant(outcome.key, outcome.token, False, 1, entries, value, has_more=more == 1)
        return grant, sent_again

    def renew(
        self, shard: int, client: str, terms: Terms, held: Mapping[str, int]
    ) -> Sequence[str]:
        pairs = [part for key, token in held.items() for part in (as_bytes(key), token)]
        args = [client if terms.has_own_line else "", as_ms(terms.lease), *pairs]
        return [as_text(key) for key in self._connection.run("renew", self._prefixes[shard], args)]

    def progress(self, key: str, token: int, position: int, progress: bytes) -> bool:
        args = [as_bytes(key), token, position, progress]
        return bool(self._connection.run("progress", self._prefix(key), args))

    def listener(self, client: str) -> RedisListener:
        return RedisListener(
            self._connection, [b"%bwake:%b" % (p, as_bytes(client)) for p in self._prefixes]
        )

    # Looking

    def states(self) -> Iterator[KeyState]:
        for prefix in self._prefixes:
            pattern = prefix.replace(b"[", b"\\[") + b"k:*"
            for found in pieces(self._connection.scan(pattern), 200):
                names = [name[len(prefix) + 2 :] for name in found]
                yield from self._look(prefix, names)

    def look(self, key: str) -> KeyState:
        return self._look(self._prefix(key), [as_bytes(key)])[0]

    def _look(self, prefix: bytes, names: Sequence[bytes]) -> list[KeyState]:
        now, rows = self._connection.run("look", prefix, names)
        return [entry.key_state(as_text(n), now, row) for n, row in zip(names, rows, strict=True)]

    def peek(self, key: str, count: int = 10) -> Sequence[Entry]:
        queue = self._prefix(key) + b"q:" + as_bytes(key)
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
        require_reason(reason)
        self._manage("pause", key, reason)

    def resume(self, key: str) -> bool:
        return self._manage("resume", key)

    def redrive(self, key: str, position: int) -> bool:
        return self._manage("redrive", key, str(position))

    def drop(self, key: str, position: int) -> bool:
        return self._manage("drop", key, str(position))

    def _manage(self, action: str, key: str, extra: str = "") -> bool:
        args = [action, as_bytes(key), *self._request(), extra]
        found = self._connection.run("manage", self._prefix(key), args)
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
                    found.append(Scheduled(as_text(id), key, moment / 1000, value))
        return sorted(found, key=lambda one: one.due)

    def _hash(self, name: bytes) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self._ask("hgetall", name)
        return found
