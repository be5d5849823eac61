"""The trace of a replay: one run, and a note in the lake of who replayed what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from singerlake.errors import InputError, SingerlakeError
from singerlake.format.consumer import consumer
from singerlake.lake import Tap, clock, consumers
from singerlake.lineage.emitter.emitter import Emitter
from singerlake.lineage.event.value import Event, EventType
from singerlake.lineage.job import context
from singerlake.lineage.job.replay import Replay, ReplayedStream
from singerlake.lineage.trace.person import who
from singerlake.runtime import REAL

Read = Callable[[], Sequence[tuple[str, ReplayedStream]]]
"""What was read so far: the log id of each stream, and what was read of it."""


@contextmanager
def replaying(emitter: Emitter, tap: Tap, sender: str, read: Read) -> Iterator[None]:
    """Around a replay. `sender` is what other plugins call the tap that replays."""
    surroundings = context.from_environment()
    job = Replay(surroundings, tap.store.url, tap.tap_id, sender, REAL.new_id(), clock.now())

    def report(kind: EventType, error: str = "") -> None:
        streams, time = [one for _, one in read()], clock.now()
        emitter.report(lambda: [job.event(kind, time, streams, error)])

    report("START")
    try:
        yield
    except BaseException as error:
        report(end_of(error), told(error))
        raise
    else:
        report("COMPLETE")
        noted = read()
        emitter.report(lambda: _noted(tap, who(surroundings, "tap-singerlake"), noted), 0)
    finally:
        emitter.close()


def _noted(tap: Tap, name: str, read: Sequence[tuple[str, ReplayedStream]]) -> list[Event]:
    """Notes in the lake who replayed what. On the emitter's thread: a store may be slow."""
    now = clock.now()
    made = {
        one.name: consumer("replay", name, "", log_id, one.sequence, now)
        for log_id, one in read
        if one.sequence
    }
    if made:
        consumers.note(tap.store, tap.tap_id, made)
    return []


def end_of(error: BaseException) -> EventType:
    """A signal aborts a run: it comes as the end of the process, or as Ctrl-C."""
    return "ABORT" if isinstance(error, SystemExit | KeyboardInterrupt) else "FAIL"


def told(error: BaseException) -> str:
    """An error's text; only its kind where it may quote records."""
    kind = type(error).__name__
    if isinstance(error, SingerlakeError) and not isinstance(error, InputError):
        return f"{kind}: {error}"
    return kind
