"""The streams that a command is about: all, those of a tap, or those of a name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from singerlake.cli.failures import Failures
from singerlake.errors import BadName, CorruptDocument, UnknownStream
from singerlake.lake import Lake, Stream, Tap
from singerlake.lake.parallel import in_parallel


@dataclass(frozen=True)
class Chosen:
    """A tap, and its chosen streams. `problem` is why they could not be told."""

    tap: Tap
    streams: tuple[Stream, ...]
    problem: CorruptDocument | BadName | None = None


def chosen(lake: Lake, tap: str | None, stream: str | None) -> list[Chosen]:
    """By tap. Raises `UnknownTap` and `UnknownStream`; a damaged catalogue hides no other tap."""
    taps = lake.taps() if tap is None else [lake.tap(tap)]
    found = list(in_parallel(partial(_of, stream=stream), taps))
    if stream is None:
        return found
    found = [one for one in found if one.streams or one.problem]
    if not found:
        of_tap = "" if tap is None else f" in tap {tap!r}"
        raise UnknownStream(
            f"{lake.store.url}: no stream {stream!r}{of_tap}; `singerlake ls` shows what there is"
        )
    return found


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


def _of(tap: Tap, stream: str | None) -> Chosen:
    try:
        streams = tap.streams()
    except (CorruptDocument, BadName) as error:
        return Chosen(tap, (), error)
    return Chosen(tap, tuple(one for one in streams if stream in (None, one.name)))
