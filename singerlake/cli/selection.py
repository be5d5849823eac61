"""The streams that a command is about: all, those of a tap, or those of a name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from singerlake.cli.failures import Failures
from singerlake.errors import BadName, DamageError
from singerlake.lake import Lake, Stream, Tap
from singerlake.lake.parallel import in_parallel
from singerlake.lake.unknown import unknown_stream


@dataclass(frozen=True)
class Chosen:
    """A tap, and its chosen streams. `problem` is why they could not be told."""

    tap: Tap
    streams: tuple[Stream, ...]
    problem: DamageError | BadName | None = None


def chosen(lake: Lake, tap: str | None, stream: str | None) -> list[Chosen]:
    """By tap. Raises `UnknownTap` and `UnknownStream`; a damaged catalogue hides no other tap."""
    taps = lake.taps() if tap is None else [lake.tap(tap)]
    found = list(in_parallel(_of, taps))
    if stream is None:
        return found
    named = [replace(one, streams=_named(one, stream)) for one in found]
    kept = [one for one in named if one.streams or one.problem]
    if not kept:
        known = {other.name for one in found for other in one.streams}
        raise unknown_stream(lake.store.url, stream, known, tap)
    return kept


def chosen_streams(
    lake: Lake, tap: str | None, stream: str | None, failures: Failures
) -> list[Stream]:
    """As `chosen`, for commands that must not pass over any: a damaged catalogue is a failure."""
    streams: list[Stream] = []
    for one in chosen(lake, tap, stream):
        with failures.collected(one.tap.tap_id, None):
            if one.problem is not None:
                raise one.problem
        streams += one.streams
    return streams


def every_stream(lake: Lake, tap: str | None, stream: str | None) -> list[tuple[str, str]]:
    """As `chosen`, by the names of tap and stream; what a damaged catalogue hides is left out."""
    found = chosen(lake, tap, stream)
    return [(one.tap.tap_id, other.name) for one in found for other in one.streams]


def _of(tap: Tap) -> Chosen:
    try:
        return Chosen(tap, tuple(tap.streams()))
    except (DamageError, BadName) as error:
        return Chosen(tap, (), error)


def _named(one: Chosen, stream: str) -> tuple[Stream, ...]:
    return tuple(other for other in one.streams if other.name == stream)
