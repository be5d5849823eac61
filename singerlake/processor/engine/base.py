"""The contract of an engine.

An engine keeps, for each key, a queue of events and who holds the key. Every method is one atomic
step. A method that writes may be sent again after a lost answer, and then changes nothing more.
All expiry is by the engine's own clock. Whoever writes an engine (for PostgreSQL, say) implements
the abstract methods, and passes `tests/processor/test_conformance.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from singerlake.errors import BacklogFull, BadEvent, ConfigError
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
from singerlake.processor.event import encode_value
from singerlake.runtime import REAL, Runtime

LONGEST_KEY = 1024
"""Bytes, in UTF-8."""

LARGEST_VALUE = 1024 * 1024
"""Bytes, encoded: larger things belong in a store, and their address in the event."""

BACKLOG = 100_000
"""Events that may wait in one key, unless the engine is opened with another number."""


class Listener(ABC):
    """How a processor waits for news of an engine."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Returns when there may be something to take, at the latest after so long."""

    @abstractmethod
    def interrupt(self) -> None:
        """Have `wait` return; from any thread."""

    @abstractmethod
    def close(self) -> None: ...


class Engine(ABC):
    """Where events wait. Safe to use from several threads; `with` closes it."""

    shards = 1
    scheduling = True

    def __init__(self, url: str, backlog: int = BACKLOG, runtime: Runtime = REAL) -> None:
        self.url, self.backlog, self.runtime = url, backlog, runtime
        self._is_open = False

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For everybody

    def add(
        self,
        key: str,
        value: object,
        id: str | None = None,
        delay: float | None = None,
        *,
        at: datetime | None = None,
        start: bool = True,
        ttl: float | None = None,
    ) -> str:
        """Add an event behind those of its key; returns its id, "" for one without.

        `value` is bytes, or whatever JSON holds. An `id` is taken once within an hour: a second
        event with it is not added. `delay` in seconds, or `at`, has it wait for its time; then it
        has an id, which `cancel` takes. With `start=False` the event waits until another one opens
        a session. After `ttl` seconds in its queue it is dropped.

        Raises `BadEvent`, `ConfigError`, and `BacklogFull` where too many events wait in its key.
        """
        self._require_open()
        tail = Item(_checked_value(value), _checked_id(id), "", start)
        _require_key(key)
        if ttl is not None and not ttl > 0:
            raise BadEvent(f"expected a ttl above 0 seconds, or none, found {ttl!r}")
        if delay is None and at is None:
            self._added(key, self.append(key, [tail], ttl or 0.0))
            return tail.id
        if not self.scheduling:
            raise ConfigError(f"{self.url}: scheduling is off; add the event without delay and at")
        name = tail.id or self.runtime.new_id()
        item = Item(tail.value, name, "", start)
        self.schedule(key, item, _moment(delay, at), ttl or 0.0, relative=at is None)
        return name

    def add_many(self, key: str, values: Sequence[object]) -> None:
        """Add events of one key in one step. Raises as `add` does."""
        self._require_open()
        _require_key(key)
        if values:
            items = [Item(_checked_value(value)) for value in values]
            self._added(key, self.append(key, items, 0.0))

    def _added(self, key: str, added: bool) -> None:
        if not added:
            raise BacklogFull(
                f"{self.url}: {self.backlog:,} events wait in key {key!r}, which is the most it "
                f"may have; add them later, or see `singerlake process why {key}`"
            )

    def _require_open(self) -> None:
        if not self._is_open:
            raise ConfigError(f"{self.url}: the engine is not open; call open_engine, or open()")

    # For engines to implement

    @abstractmethod
    def open(self) -> None:
        """Raises `UnsupportedFormat`, and `ConfigError` where it was made with other shards."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def append(self, key: str, items: Sequence[Item], ttl: float) -> bool:
        """False where the key's backlog would be too long; then nothing is added."""

    @abstractmethod
    def schedule(self, key: str, item: Item, when: float, ttl: float, relative: bool) -> bool:
        """`when` is a delay if `relative`, else seconds since the epoch. False where an event of
        this id waits, or came within the last hour."""

    @abstractmethod
    def cancel(self, id: str) -> bool:
        """Whether an event of this id was waiting for its time, and now does not."""

    @abstractmethod
    def hand_over(
        self, name: str, key: str, before: str, after: str, items: Sequence[Item]
    ) -> str | None:
        """Add the events of a source and move its place in one step, if the place is `before`.

        Returns the place as it is now: `after`, or where somebody else has moved it; None where
        the key's backlog is full.
        """

    @abstractmethod
    def places(self, name: str) -> Mapping[str, str]:
        """The places of a source, by key."""

    @abstractmethod
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
        """Settle the outcome of what a slot had, then give it the next.

        `sweep` also runs timers that are due; `announce` has the slot's listener woken when there
        is more. "Nothing left" and "let go" are this one step.
        """

    @abstractmethod
    def renew(
        self, shard: int, client: str, terms: Terms, held: Mapping[str, int]
    ) -> Sequence[str]:
        """Hold these keys, with these tokens, for another lease; returns the keys that are lost."""

    @abstractmethod
    def progress(self, key: str, token: int, position: int, progress: bytes) -> bool:
        """Keep how far an event has come, until it is handed out again. False where the lease is
        lost."""

    @abstractmethod
    def listener(self, client: str) -> Listener: ...

    @abstractmethod
    def shard_of(self, key: str) -> int: ...

    @abstractmethod
    def states(self) -> Iterator[KeyState]:
        """Every key that has something to remember."""

    @abstractmethod
    def look(self, key: str) -> KeyState: ...

    @abstractmethod
    def peek(self, key: str, count: int = 10) -> Sequence[Entry]:
        """The first waiting events of a key."""

    @abstractmethod
    def counts(self) -> Counts: ...

    @abstractmethod
    def pause(self, key: str, reason: str) -> None:
        """Hand out no more events of the key; one under way goes on to its end. Raises
        `ConfigError` for an empty reason, and for one that stands for a dead letter."""

    @abstractmethod
    def resume(self, key: str) -> bool: ...

    @abstractmethod
    def dead(self) -> Sequence[DeadLetter]: ...

    @abstractmethod
    def redrive(self, key: str, position: int) -> bool:
        """Put a dead letter back to the head of its key. Raises `BusyError` where the key is
        leased."""

    @abstractmethod
    def drop(self, key: str, position: int) -> bool:
        """Forget a dead letter; its key goes on."""

    @abstractmethod
    def scheduled(self) -> Sequence[Scheduled]:
        """By their time."""


def _require_key(key: str) -> None:
    if not isinstance(key, str) or not key:
        raise BadEvent(f"expected a key, which is text that is not empty, found {key!r}")
    if key.startswith("_lake/"):
        raise BadEvent(f"expected a key that does not begin with _lake/, found {key!r}")
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise BadEvent(f"expected a key without lone surrogates, found {key!r}") from None
    if size > LONGEST_KEY or "\n" in key:
        raise BadEvent(
            f"expected a key of at most {LONGEST_KEY} bytes without line feeds, found {size} "
            f"bytes: {key[:40]!r}"
        )


def _checked_value(value: object) -> bytes:
    if value is None:
        raise BadEvent("expected a value, which is bytes or JSON, found None")
    data = encode_value(value)
    if len(data) > LARGEST_VALUE:
        raise BadEvent(
            f"expected a value of at most {LARGEST_VALUE:,} bytes, found {len(data):,}; keep it in "
            "a store, and add its address"
        )
    return data


def _checked_id(id: str | None) -> str:
    if id is None:
        return ""
    if not isinstance(id, str) or not id or len(id) > 200 or "\n" in id or "|" in id:
        raise BadEvent(
            f"expected an id of 1 to 200 characters without '|' and line feeds, found {id!r}"
        )
    return id


def _moment(delay: float | None, at: datetime | None) -> float:
    if at is None:
        if delay is None or not 0 <= delay < 4e9:
            raise BadEvent(f"expected a delay of 0 seconds or more, found {delay!r}")
        return float(delay)
    if delay is not None:
        raise BadEvent("expected delay or at, found both")
    if at.tzinfo is None:
        raise BadEvent(f"expected a time with its zone, found {at.isoformat()}")
    return at.astimezone(timezone.utc).timestamp()
