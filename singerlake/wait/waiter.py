"""A wait for several events: looked at again and again, until enough of them are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival, State
from singerlake.wait.event import ALWAYS, Awaited, require_names, source_type
from singerlake.wait.need import ALL, Need
from singerlake.wait.source.base import Answer, Question, Source
from singerlake.wait.window import Span

if TYPE_CHECKING:
    from singerlake.wait.status.store import StatusStore


@dataclass(frozen=True)
class Wait:
    """What is awaited. `at` is the wait's own time, whose windows count; `deadline` is absolute, so
    that a restart does not extend it.

    Raises `ConfigError` for what can never be.
    """

    name: str
    events: tuple[Awaited, ...]
    at: datetime
    need: Need = ALL
    deadline: datetime | None = None

    def __post_init__(self) -> None:
        require_names(self.events)
        self.need.of(len(self.events))


@dataclass(frozen=True)
class Standing:
    """How one event stands: `error` is why nobody can know now, and the exception behind it."""

    event: Awaited
    span: Span
    state: State
    arrival: Arrival | None = None
    error: SingerlakeError | None = None


@dataclass(frozen=True)
class Progress:
    """How a wait stands."""

    standings: tuple[Standing, ...]
    needed: int
    is_over: bool

    @property
    def received(self) -> tuple[Standing, ...]:
        return tuple(one for one in self.standings if one.state == "received")

    @property
    def missing(self) -> tuple[Standing, ...]:
        return tuple(one for one in self.standings if one.state != "received")

    @property
    def is_done(self) -> bool:
        """Whether enough events are there."""
        return len(self.received) >= self.needed


def given_up(standings: Sequence[Standing]) -> tuple[Standing, ...]:
    """Once the wait has ended, nobody waits for what has not come."""
    return tuple(
        one if one.arrival is not None else replace(one, state="missed") for one in standings
    )


class Waiter:
    """Looks at the sources for one wait. `sources` are by the type of their events; None for who
    asks them otherwise, by `questions` and `take`, and has said where each event begins to count.

    With a `store` the table shows how the wait stands, and a waiter that is started again goes on
    where the last one was: from the same places, with what was received. For one thread.
    """

    def __init__(
        self,
        wait: Wait,
        sources: Mapping[str, Source] | None = None,
        store: StatusStore | None = None,
        runtime: Runtime = REAL,
    ) -> None:
        if sources is not None:
            _require_sources(wait.events, sources)
        self.wait, self._sources = wait, sources or {}
        self._store, self._runtime = store, runtime
        self._events = list(wait.events)
        self._received: dict[tuple[str, str], Arrival] = {}
        self._remembered: Mapping[tuple[str, str], Arrival] = {}
        self._declared: set[tuple[str, str]] = set()
        self._errors: dict[tuple[str, str], str] = {}
        self._begun = False

    def look(self, is_last: bool = False) -> Progress:
        """Ask all sources once. At the deadline, what is missing becomes missed. `is_last` where
        somebody else decides that it is the deadline."""
        now = self._runtime.now()
        by_kind: dict[str, list[Question]] = defaultdict(list)
        for question in self.questions(now, is_last):
            by_kind[source_type(question.event)].append(question)
        answers = [
            pair
            for kind, asked in by_kind.items()
            for pair in zip(asked, self._sources[kind].look(asked), strict=True)
        ]
        return self.take(answers, now)

    def questions(self, now: datetime, is_last: bool = False) -> list[Question]:
        """What to ask now: for those who ask the sources themselves."""
        self._begin()
        is_last |= self._is_over(now)
        asked = []
        for event in self._events:
            span = event.span(self.wait.at, now)
            self._declare(event, span)
            is_known = (event.title, span.name) in self._received and event.frequency != "sliding"
            if not is_known:
                asked.append(Question(event, span, is_last))
        return asked

    def remember(self, arrivals: Mapping[tuple[str, str], Arrival]) -> None:
        """What had come when somebody looked before, by title and window. It counts where nobody
        can know now: what was received stays received."""
        self._remembered = arrivals

    def take(self, answers: Iterable[tuple[Question, Answer]], now: datetime) -> Progress:
        """How the wait stands after these answers to the questions of this moment."""
        errors: dict[str, SingerlakeError] = {}
        for question, answer in answers:
            self._take(question, answer, errors)
        is_over = self._is_over(now)
        progress = self._progress(now, errors, is_over)
        if is_over and not progress.is_done and self._store is not None:
            for one in progress.missing:
                self._store.miss(self.wait.name, one.span.name, one.event.title)
        return progress

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _is_over(self, now: datetime) -> bool:
        return self.wait.deadline is not None and now >= self.wait.deadline

    def _begin(self) -> None:
        """Once: the place in each source from which on an event without a window counts."""
        if self._begun:
            return
        self._events = [self._anchored(event) for event in self.wait.events]
        self._begun = True

    def _anchored(self, event: Awaited) -> Awaited:
        row = None
        if self._store is not None and event.window is None:
            row = self._store.find(self.wait.name, ALWAYS.name, event.title)
        if row is None:
            source = self._sources.get(source_type(event))
            return event if source is None else source.anchored(event)
        kept: Awaited = msgspec.convert(row.event, type(event))
        return kept

    def _declare(self, event: Awaited, span: Span) -> None:
        key = (event.title, span.name)
        if self._store is None or key in self._declared:
            return
        row = self._store.declare(self.wait.name, event, span, self.wait.deadline)
        if row.state == "received" and row.last_receive_time is not None:
            self._received[key] = Arrival(
                time=row.last_receive_time,
                position=row.position or {},
                text=row.last_receive or "",
            )
        self._declared.add(key)

    def _take(self, question: Question, answer: Answer, errors: dict[str, SingerlakeError]) -> None:
        title, window = question.event.title, question.span.name
        if isinstance(answer, SingerlakeError):
            answer = self._remembered.get((title, window), answer)
        if isinstance(answer, Arrival):
            self._keep(question.event, question.span, answer)
            self._received[title, window] = answer
        elif isinstance(answer, SingerlakeError):
            errors[title] = answer
        if not isinstance(answer, Arrival):
            self._let_slide(question, answer)
        self._note(title, window, answer if isinstance(answer, SingerlakeError) else None)

    def _let_slide(self, question: Question, answer: SingerlakeError | None) -> None:
        """What slid out of its window has not arrived, also where nobody can know of another."""
        title, window = question.event.title, question.span.name
        known = self._received.get((title, window))
        if known is None or (answer is not None and question.span.holds(known.time)):
            return
        del self._received[title, window]
        if self._store is not None:
            self._store.await_again(self.wait.name, window, title, self.wait.deadline)

    def _keep(self, event: Awaited, span: Span, arrival: Arrival) -> None:
        if self._store is not None:
            self._store.receive(self.wait.name, span.name, event.title, arrival)

    def _note(self, title: str, window: str, error: SingerlakeError | None) -> None:
        text = "" if error is None else f"{type(error).__name__}: {error}"
        if self._errors.get((title, window), "") != text:
            self._errors[title, window] = text
            if self._store is not None:
                self._store.fail(self.wait.name, window, title, text)

    def _progress(
        self, now: datetime, errors: Mapping[str, SingerlakeError], is_over: bool
    ) -> Progress:
        standings = []
        for event in self._events:
            span = event.span(self.wait.at, now)
            arrival = self._received.get((event.title, span.name))
            state: State = "received" if arrival else "missed" if is_over else "waiting"
            standings.append(Standing(event, span, state, arrival, errors.get(event.title)))
        return Progress(tuple(standings), self.wait.need.of(len(standings)), is_over)


def _require_sources(events: Iterable[Awaited], sources: Mapping[str, Source]) -> None:
    for event in events:
        if source_type(event) not in sources:
            raise ConfigError(
                f"expected a source for events of type {source_type(event)!r}, found those of "
                f"{', '.join(sorted(sources))}"
            )
