"""A lake as a source of events: one for each commit, with its stream as key.

Polling is an event too, which is put back for later each time: whoever holds its key polls, and
nobody leads.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any, NoReturn

from singerlake.errors import ConfigError, Later, SingerlakeError
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Failed, Lost, Renumbered
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.options import DEFAULTS, FeedOptions
from singerlake.lake.lake import Lake
from singerlake.processor import lake_position
from singerlake.processor.engine.base import Engine
from singerlake.processor.engine.values import RENUMBERED, Item
from singerlake.processor.event import encode_value
from singerlake.processor.lake_position import key_of, text_of
from singerlake.processor.observer import Observer

logger = logging.getLogger("singerlake.processor")

SAVE_SECONDS = 60.0
AT_ONCE = 500
"""Commits that are handed over in one step."""

LAST = 2**53
"""No sequence number is above it."""

BEGUN = "begun"
OWNER = "_owner"
"""Under this name an engine remembers whom it works for."""


class LakeSource:
    """The commits of a lake, of all streams or of these taps and streams.

    `name` is the consumer's: processors with one name share the work. `begin` is `start`, `now` or
    the name of a pin, for an engine that does not know the name yet; without it such an engine goes
    on where the lake has it, `raw/_consumers/<name>.json`, or begins at the start.
    """

    def __init__(
        self,
        lake: Lake,
        name: str = "processor",
        taps: Collection[str] | None = None,
        streams: Collection[str] | None = None,
        *,
        begin: str | None = None,
        options: FeedOptions = DEFAULTS,
    ) -> None:
        self.lake, self.name, self.key = lake, name, f"_lake/{name}"
        self._taps, self._streams, self._begin = taps, streams, begin
        self._options = options
        self._engine: Any = None
        self._observer = Observer()
        self._feed: Feed | None = None
        self._places: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._saved: float | None = None
        self.polls = 0
        """How often this process has asked the lake."""

    def begin(self, engine: Engine, observer: Observer) -> None:
        """Have the lake polled from now on, by whichever processor is free."""
        self._engine, self._observer = engine, observer
        self._poll_if_nobody_does()

    def tend(self) -> None:
        """Begin anew where the engine has forgotten everything: from what the lake has."""
        if self._engine.look(self.key).waiting == 0:
            logger.warning("the engine has forgotten to poll the lake: it begins anew")
            self._begin, self._feed = None, None
            self._engine.open()
            self._poll_if_nobody_does()

    def _poll_if_nobody_does(self) -> None:
        engine = self._engine
        owner = engine.hand_over(OWNER, OWNER, "", self.name, [])
        if owner != self.name:
            raise ConfigError(
                f"{engine.url}: this engine works for {owner!r}, and a job takes every event of "
                f"its engine; give {self.name!r} another file, or another namespace"
            )
        if BEGUN not in engine.places(self.name).get(self.key, ""):
            self._first(engine)
        elif self._begin is not None:
            logger.warning(
                "the engine knows how far %r has come, and goes on from there, not from %r",
                self.name,
                self._begin,
            )
        self._add_poll()
        state = engine.look(self.key)
        if state.status == "paused":
            logger.error("%s is paused (%s): the lake is not polled", self.key, state.reason)

    def _add_poll(self) -> None:
        state = self._engine.look(self.key)
        if state.waiting == 0 and state.status != "paused":
            self._engine.append(self.key, [Item(encode_value("poll"))], 0.0)

    def _first(self, engine: Engine) -> None:
        if self._begin is None:
            cursor = lake_position.read(self.lake, self.name)
        else:
            cursor = lake_position.beginning(self.lake, self._begin)
            self._save(cursor)
        for (tap, stream), bookmark in cursor.bookmarks.items():
            engine.hand_over(self.name, key_of(tap, stream), "", text_of(bookmark), [])
        engine.hand_over(self.name, self.key, "", BEGUN, [])

    def end(self) -> None:
        """Save where the consumer stands."""
        if self._engine is not None:
            self._save()

    def poll(self) -> NoReturn:
        """Hand over what is new. Raises `Later`, always: the next poll is the same event."""
        try:
            self._add_poll()  # at most once: this one went when it was handed out
            self._hand_over_new()
            self.polls += 1
            now = self._engine.runtime.monotonic()
            if self._saved is None or now - self._saved >= SAVE_SECONDS:
                self._save()
                self._saved = now
        except SingerlakeError as error:
            logger.warning("the lake cannot be polled now: %s", error)
            self._feed = None
        except Exception:  # whatever it is, the next poll comes: a dead letter would end them all
            logger.exception("the lake cannot be polled: please report this")
            self._feed = None
        raise Later(self._options.poll_seconds)

    def _save(self, cursor: Cursor | None = None) -> None:
        """A lake that may only be read is polled all the same."""
        try:
            if cursor is None:
                cursor = lake_position.acknowledged(self._engine, self.name)
            lake_position.save(self.lake, self.name, cursor)
        except SingerlakeError as error:
            logger.warning("the position of %r is not saved: %s", self.name, error)

    def _hand_over_new(self) -> None:
        feed = self._current_feed()
        for (tap, stream), events in groupby(feed.poll(), lambda one: (one.tap, one.stream)):
            if stream == "" or key_of(tap, stream) in self._held:
                for event in events:
                    _report(event)
            elif not self._stream(key_of(tap, stream), events):
                self._feed = None  # it has gone past what is not handed over
                return

    def _current_feed(self) -> Feed:
        """The feed of the last poll, unless somebody else has polled since."""
        places = {
            key: text
            for key, text in self._engine.places(self.name).items()
            if not key.startswith("_") and text
        }
        goes_on = any(self._goes_on(key, log) for key, log in self._held.items())
        if self._feed is None or places != self._places or goes_on:
            saved = lake_position.read(self.lake, self.name).bookmarks
            known = lake_position.cursor_of(places).bookmarks
            cursor = Cursor({**saved, **known})
            self._places, self._held = places, {}
            for (tap, stream), bookmark in saved.items():
                if (tap, stream) not in known:  # a part of the engine was lost: go on from there
                    self._move(key_of(tap, stream), bookmark, [])
            self._feed = self.lake.feed(cursor, self._taps, self._streams, options=self._options)
        return self._feed

    def _stream(self, key: str, events: Iterator[Event]) -> bool:
        """Hand over the events of one stream; False where the engine did not take them."""
        items: list[Item] = []
        last = Bookmark.parse(json.loads(self._places[key])) if key in self._places else START
        before = last
        for event in events:
            if isinstance(event, Failed | Renumbered):
                if not self._move(key, last, items, before):
                    return False
                items, before = [], last
                if not self._is_passed(key, event):
                    return True
            elif isinstance(event, Committed):
                items.append(_item(event, last))
            else:
                _report(event)
            last = event.bookmark
            if len(items) >= min(AT_ONCE, max(1, self._engine.backlog // 2)):
                if not self._move(key, last, items, before):
                    return False
                items, before = [], last
        return self._move(key, last, items, before)

    def _move(
        self, key: str, after: Bookmark, items: list[Item], before: Bookmark | None = None
    ) -> bool:
        if before == after and not items:
            return True
        text = text_of(after)
        found = self._engine.hand_over(self.name, key, self._places.get(key, ""), text, items)
        if found == text:
            self._places[key] = text
            self._observer.count("added", len(items))
        return bool(found == text)

    def _is_passed(self, key: str, event: Failed | Renumbered) -> bool:
        """Whether somebody has accepted that the numbers of this stream are others now. Until then
        its key stands still, and says why."""
        if isinstance(event, Renumbered):
            log = event.bookmark.log_id
            reason = f"{RENUMBERED}{log} the log was {event.old_log_id}"
        elif event.kind == "StaleBookmark":
            log = f"restored@{event.bookmark.sequence}"
            reason = f"{RENUMBERED}{log} {event.error}"
        else:
            _report(event)
            return False
        if self._is_accepted(key, log):
            if isinstance(event, Failed):
                self._move(key, START, [])
                self._feed = None
            return isinstance(event, Renumbered)
        self._held[key] = log
        self._engine.pause(key, reason[:500])
        logger.error(
            "key %s is stopped: the numbers of its stream are others now (%s). To process the "
            "stream from its beginning, run `singerlake process resume %s`",
            key,
            reason.removeprefix(RENUMBERED),
            key,
        )
        return False

    def _goes_on(self, key: str, log: str) -> bool:
        """Whether a key that was stopped may be asked for again: its new log is accepted, or
        somebody has ended another pause that came over ours, and has to hear of it anew."""
        state = self._engine.look(key)
        return bool(state.accepted == log or not state.reason)

    def _is_accepted(self, key: str, log: str) -> bool:
        return bool(self._engine.look(key).accepted == log)


def _item(event: Committed, previous: Bookmark) -> Item:
    """An event has facts and positions, never paths: vacuums replace files."""
    value: dict[str, Any] = {
        "tap": event.tap,
        "stream": event.stream,
        "log_id": event.log_id,
        "first_sequence": event.first_sequence,
        "last_sequence": event.last_sequence,
        "records": event.records,
        "bytes": event.bytes,
        "run_id": event.run_id,
        "writer_id": event.writer_id,
        "time": event.time.isoformat(),
        "continues": event.continues,
        "previous": "" if previous == START else text_of(previous),
        "bookmark": text_of(event.bookmark),
    }
    if event.continued:
        value["logs"] = {one.log_id: one.up_to for one in event.continued}
        value["logs"][event.bookmark.log_id] = LAST
    # By the log that gave the number out: whoever has seen the commit knows it again.
    source = f"{event.log_id}:{event.last_sequence}"
    return Item(encode_value(value), source=source)


def _report(event: Event) -> None:
    if isinstance(event, Failed):
        logger.warning("%s %s cannot be read now: %s", event.tap, event.stream, event.error)
    elif isinstance(event, Lost):
        logger.warning(
            "%s %s: the records of numbers %d to %d are gone: %s",
            event.tap,
            event.stream,
            event.first_sequence,
            event.last_sequence,
            event.reason,
        )
