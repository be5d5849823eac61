"""What goes into an engine and comes out of it: frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from singerlake.errors import ConfigError

What = Literal["more", "rest", "end", "fail", "later", "again", "dead"]

HELD_BY_DEAD = "dead"
"""Why a key is paused that waits for somebody to look at its dead letter. Where somebody has paused
it too, a comma and their reason follow."""

RENUMBERED = "renumbered "
"""Begins the reason of a pause: the stream's log has a new id, which follows."""


def pauses(paused: str) -> tuple[bool, str]:
    """What holds a paused key: whether a dead letter does, and the reason that somebody gave."""
    if paused == HELD_BY_DEAD:
        return True, ""
    begins = f"{HELD_BY_DEAD}, "
    return paused.startswith(begins), paused.removeprefix(begins)


def require_reason(reason: str) -> None:
    """Raises `ConfigError` for the reason of a pause that would be read as none, or as the hold of
    a dead letter."""
    if not reason or pauses(reason)[0]:
        raise ConfigError(
            f"expected a reason that is not empty, and is not {HELD_BY_DEAD!r}, which stands for a "
            f"dead letter; found {reason!r}: say why the key is paused"
        )


def paused_by(is_dead: bool, reason: str) -> str:
    """The inverse of `pauses`."""
    return ", ".join([HELD_BY_DEAD] * is_dead + [reason] * bool(reason))


@dataclass(frozen=True)
class Item:
    """An event to add. `source` is "<log id>:<sequence>" for an event that a log numbers."""

    value: bytes
    id: str = ""
    source: str = ""
    start: bool = True


@dataclass(frozen=True)
class Entry:
    """An event of a queue. Positions grow within a key, for ever; they are not dense."""

    position: int
    value: bytes
    id: str = ""
    source: str = ""
    start: bool = True
    expires: float = 0.0

    @property
    def added(self) -> float:
        """When it was added, on the engine's clock: positions are microseconds, where they can."""
        return self.position / 1e6


@dataclass(frozen=True)
class Terms:
    """How a processor takes keys; spans in seconds. `limit` is of leases at a time, 0 for none.
    `owns`: some keys stick to this processor, even if not all do."""

    lease: float = 30.0
    sticky: float = 0.0
    idle_timeout: float = 0.0
    batch: int = 100
    max_deliveries: int = 10
    on_dead: Literal["hold", "skip"] = "hold"
    at_most_once: bool = False
    limit: int = 0
    owns: bool = False

    @property
    def has_own_line(self) -> bool:
        return self.owns or self.sticky > 0


@dataclass(frozen=True)
class Slot:
    """One place of a processor, which has one key at a time."""

    client: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.client}/{self.number}"


@dataclass(frozen=True)
class Grant:
    """A key that is leased to a slot, and its next events. `starts`: a session begins."""

    key: str
    token: int
    starts: bool
    deliveries: int
    entries: tuple[Entry, ...]
    state: bytes = b""
    progress: bytes = b""
    has_more: bool = True
    """False where nothing waited behind these events when they were handed out."""


@dataclass(frozen=True)
class Outcome:
    """What became of a grant: its first `done` events are acknowledged, `position` is the last of
    them. Then by `what`: `more` events of the same key; `rest`, let the key go; `end`, its session
    is complete; `fail`, the next event failed, and is tried again after `delay`; `later`, the same
    without a count; `again`, the same, and earlier deliveries are forgotten; `dead`, the next event
    is a dead letter. After a failure, `singly` has the
    events of the grant come one by one, so that a batch finds out which of them fails.
    """

    key: str
    token: int
    what: What
    done: int = 0
    position: int = 0
    delay: float = 0.0
    error: str = ""
    state: bytes | None = None
    singly: bool = False
    sticky: float | None = None
    has_more: bool = True
    """That of the grant: a hint, for an engine that has a short way to more of the same key."""

    @property
    def expects_more(self) -> bool:
        return self.what == "more" and self.has_more


@dataclass(frozen=True)
class Turn:
    """`lost`: the lease of the outcome's key was lost, and the outcome changed nothing. `wait` is
    how long nothing happens by itself; None where no timer runs.
    """

    grant: Grant | None = None
    lost: bool = False
    wait: float | None = 0.0
    expired: int = 0
    """Events that were dropped on the way, because nobody processed them in time."""


Status = Literal["idle", "ready", "leased", "backing off", "waits", "paused", "waiting for a start"]
"""`backing off` is after a failure; `waits`, where nothing failed: an event was put back until a
moment, by `Later` or by an outage."""


def until_a_moment(deliveries: int) -> Status:
    """How a key stands that nobody gets before a moment."""
    return "backing off" if deliveries else "waits"


@dataclass(frozen=True)
class KeyState:
    """A key, for people. Times are seconds of the engine's clock."""

    key: str
    status: Status
    waiting: int
    reason: str = ""
    holder: str = ""
    since: float | None = None
    until: float | None = None
    token: int = 0
    deliveries: int = 0
    error: str = ""
    acknowledged: int = 0
    head: Entry | None = None
    state: bytes = b""
    progress: bytes = b""
    session: str = ""
    accepted: str = ""
    stranded: bool = False


@dataclass(frozen=True)
class DeadLetter:
    """An event that failed too often."""

    key: str
    entry: Entry
    reason: str
    deliveries: int
    at: float


@dataclass(frozen=True)
class Scheduled:
    """An event that waits for its time."""

    id: str
    key: str
    due: float
    value: bytes


@dataclass(frozen=True)
class Counts:
    """How an engine stands. `oldest` is the age of the oldest event at the head of a ready key."""

    ready: int
    leased: int
    scheduled: int
    dead: int
    oldest: float = 0.0
