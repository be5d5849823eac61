"""A watch: reports what did not come in time, and what came late, without anybody who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import Awaited
from singerlake.wait.expectation import Expectation
from singerlake.wait.source.base import Source
from singerlake.wait.status.store import StatusStore
from singerlake.wait.waiter import Standing, Wait, Waiter
from singerlake.wait.window import Span

WINDOWS_BACK = 3
"""So many windows that are over are looked at again, for what comes late."""

MOST_WINDOWS = 1000
"""No more are looked at together, however long nobody watched."""


@dataclass(frozen=True)
class Notice:
    """What to report. `events` are those that are missing, or that came late."""

    kind: Literal["missed", "late"]
    expectation: Expectation
    span: Span
    deadline: datetime
    events: tuple[Standing, ...]

    @property
    def text(self) -> str:
        names = ", ".join(one.event.title for one in self.events)
        what = "missing" if self.kind == "missed" else "late"
        by = f"{self.deadline:%Y-%m-%d %H:%M} UTC"
        return f"{self.expectation.name} {self.span.name}: {what} at {by}: {names}"


class Watch:
    """Looks at the current window of each expectation, and at a few before. For one thread.

    The table remembers what was reported. `done` is called once a notice has gone out: a crash
    before it repeats a notice of what was missed. A notice of what came late may be lost so.
    """

    def __init__(
        self,
        expectations: Sequence[Expectation],
        sources: Mapping[str, Source],
        store: StatusStore,
        runtime: Runtime = REAL,
    ) -> None:
        self._expectations, self._sources = expectations, sources
        self._store, self._runtime = store, runtime
        self._began = runtime.now()
        self._reported: dict[str, datetime] = {}
        self._waiters: dict[tuple[str, str], Waiter] = {}

    def look(self) -> list[Notice]:
        """What is to be reported now."""
        now = self._runtime.now()
        asked = [(one, span) for one in self._expectations for span in self._spans(one, now)]
        current = {(one.name, span.name) for one, span in asked}
        self._waiters = {key: one for key, one in self._waiters.items() if key in current}
        notices = [notice for one, span in asked for notice in self._notices(one, span, now)]
        for name in self._reported.keys() - {one.expectation.name for one in notices}:
            self._reported[name] = now
        return notices

    def done(self, notice: Notice) -> None:
        """The notice has gone out: it does not come again."""
        name = notice.expectation.name
        for one in notice.events:
            if notice.kind == "missed":
                self._store.miss(name, one.span.name, one.event.title, notice.deadline)
            elif one.arrival is not None:
                self._store.receive(name, one.span.name, one.event.title, one.arrival)

    def _spans(self, expectation: Expectation, now: datetime) -> list[Span]:
        """Windows in which the watch was asked for, the oldest first: the current one, those whose
        deadline is still to come, a few that are over, and those that became due since everything
        was reported: nobody watched then, or no notice went out.
        """
        span = expectation.window.at(now)
        spans, over = [span], 0
        reported = self._reported_until(expectation)
        seen = expectation.window.at(reported)
        while len(spans) < MOST_WINDOWS:
            span = expectation.window.before(span)
            deadline = expectation.deadline(span)
            if over >= WINDOWS_BACK and deadline < reported:
                break
            is_asked = span.start >= seen.start or self._is_known(expectation, span)
            if deadline < self._began and not is_asked:
                break  # it was over before anybody watched
            over += deadline <= now
            spans.append(span)
        return spans[::-1]

    def _reported_until(self, expectation: Expectation) -> datetime:
        """What was due before this moment was reported. At first, that is the beginning of the
        newest window that a watch before this one has seen, or a deadline before it after which
        something is still awaited; now, where nobody has watched."""
        name, window = expectation.name, expectation.window
        if name not in self._reported:
            # Events may have other windows: that of a month began before anybody watched.
            known = [
                (row.state, window.at(row.window_start))
                for row in self._store.rows(name, MOST_WINDOWS * len(expectation.events))
                if row.frequency == window.frequency and row.window_start is not None
            ]
            newest = max((span.start for _, span in known), default=self._began)
            due = [expectation.deadline(span) for state, span in known if state == "waiting"]
            self._reported[name] = min([newest, *due])
        return self._reported[name]

    def _is_known(self, expectation: Expectation, span: Span) -> bool:
        return any(
            self._store.find(expectation.name, event.span(span.start, span.start).name, event.title)
            for event in expectation.awaited()
            if event.frequency == expectation.window.frequency
        )

    def _notices(self, expectation: Expectation, span: Span, now: datetime) -> list[Notice]:
        deadline = expectation.deadline(span)
        before = {
            event.title: self._store.find(
                expectation.name, event.span(span.start, now).name, event.title
            )
            for event in expectation.awaited()
        }
        missed = {name for name, row in before.items() if row is not None and row.state == "missed"}
        is_due = now >= deadline and not before.keys() <= missed
        progress = self._waiter(expectation, span).look(is_last=is_due)
        notices = []
        fresh = tuple(one for one in progress.missing if one.event.title not in missed)
        if now >= deadline and fresh and not progress.is_done:
            notices.append(Notice("missed", expectation, span, deadline, fresh))
        late = tuple(
            one
            for one in progress.received
            if one.event.title in missed and one.event.late == "event"
        )
        if late:
            notices.append(Notice("late", expectation, span, deadline, late))
        return notices

    def _waiter(self, expectation: Expectation, span: Span) -> Waiter:
        """Without a deadline of its own: the watch decides when a notice counts as sent."""
        key = (expectation.name, span.name)
        if key not in self._waiters:
            wait = Wait(expectation.name, expectation.awaited(), span.start, expectation.need)
            self._waiters[key] = _Looking(wait, self._sources, self._store, self._runtime)
        return self._waiters[key]


class _Looking(Waiter):
    """What comes late and has to be told is missed in the table until its notice has gone out."""

    def _keep(self, event: Awaited, span: Span, arrival: Arrival) -> None:
        row = None
        if self._store is not None and event.late == "event":
            row = self._store.find(self.wait.name, span.name, event.title)
        if row is None or row.state != "missed":
            super()._keep(event, span, arrival)
