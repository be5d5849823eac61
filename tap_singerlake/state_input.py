"""The state that the tap is given: its own STATE, in whatever a runner has wrapped it."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from singerlake.errors import ConfigError


class _Partition(msgspec.Struct):
    context: dict[str, Any]
    progress_markers: dict[str, Any] = {}


class _Bookmark(msgspec.Struct):
    """What the SDK looks into, though this tap writes none of it."""

    partitions: list[_Partition] = []
    progress_markers: dict[str, Any] = {}


def last_of(text: str) -> str:
    """Of a file with a state on each line, as targets write them, the last; else the same text.

    Raises `ConfigError` for what is nested too deeply to be a state.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if all(map(_is_object, lines)) and len(lines) > 1 else text


def checked(state: Any) -> Any:
    """The state without its wrapping, or the path of a state.

    Raises `ConfigError` where it has another shape: to ignore it would send everything again.
    """
    if state is None or isinstance(state, str | PurePath):
        return state
    own = _unwrapped(state)
    if not isinstance(own, Mapping):
        raise ConfigError(f"the state is no object, such as {_EXPECTED}: found {_kind(own)}")
    if own and "bookmarks" not in own:
        raise ConfigError(
            f"the state has no `bookmarks`: expected {_EXPECTED}, as this tap writes it, bare, in "
            "a STATE message or in Meltano's `singer_state`, found "
            f"{', '.join(map(repr, list(own)[:5]))}; to read everything, give no --state"
        )
    _check_bookmarks(own.get("bookmarks", {}))
    return dict(own)


def is_plain(state: Mapping[str, Any]) -> bool:
    """Whether a checked state has nothing in it that the SDK would change."""
    return state.keys() <= {"bookmarks"} and not any(
        bookmark.keys() & _OF_THE_SDK for bookmark in state.get("bookmarks", {}).values()
    )


_OF_THE_SDK = {
    "partitions",
    "progress_markers",
    "replication_key_signpost",
    "starting_replication_value",
}


def warn_of_strangers(
    asked: Mapping[str, Collection[str]], streams: Collection[str], log: logging.Logger
) -> None:
    """Say which names no stream of the lake answers to, and who asked for them."""
    for how, names in asked.items():
        for name in sorted(set(names) - set(streams)):
            log.warning(
                "%s stream '%s', which is not in the lake (any more), or not among the "
                "chosen streams",
                how,
                name,
            )


def warn_of_foreign_bookmarks(
    state: Mapping[str, Any], streams: Collection[str], log: logging.Logger
) -> None:
    for name, bookmark in state.get("bookmarks", {}).items():
        if name in streams and bookmark and "sequence" not in bookmark:
            log.warning(
                "The state's bookmark of stream '%s' has no `sequence`: it is not this tap's, "
                "and the stream is read whole",
                name,
            )


_EXPECTED = '{"bookmarks": {…}}'


def _unwrapped(state: Any) -> Any:
    """Out of a STATE message, and out of what Meltano keeps and `meltano state get` prints."""
    if not isinstance(state, Mapping) or "bookmarks" in state:
        return state
    if state.get("type") == "STATE":
        return _unwrapped(state.get("value"))
    if "singer_state" in state:
        return _unwrapped(state["singer_state"])
    if "completed" in state or "partial" in state:
        # A partial state is of a later run, which did not come to all streams.
        parts = [_unwrapped(state.get(name) or {}) for name in ("completed", "partial")]
        return _joined(*parts) if all(isinstance(part, Mapping) for part in parts) else parts
    return state


def _joined(completed: Mapping[str, Any], partial: Mapping[str, Any]) -> dict[str, Any]:
    older, newer = completed.get("bookmarks"), partial.get("bookmarks")
    if not isinstance(older, Mapping) or not isinstance(newer, Mapping):
        return {**completed, **partial}
    return {**completed, **partial, "bookmarks": {**older, **newer}}


def _check_bookmarks(bookmarks: Any) -> None:
    if not isinstance(bookmarks, Mapping):
        raise ConfigError("the state's `bookmarks` is no object of bookmarks by stream")
    for stream, bookmark in bookmarks.items():
        if not isinstance(bookmark, Mapping):
            raise ConfigError(f"the state's bookmark of stream {stream!r} is no object")
        try:
            msgspec.convert(bookmark, _Bookmark)
        except msgspec.ValidationError as error:
            raise ConfigError(
                f"the state's bookmark of stream {stream!r} is none that a tap writes: {error}"
            ) from None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
    except RecursionError:
        raise ConfigError(f"the state is nested too deeply: expected {_EXPECTED}") from None


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
