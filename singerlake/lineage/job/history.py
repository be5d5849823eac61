"""Events of landings, made again from the commit feed: by run id, those that the target sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

from singerlake.errors import SingerlakeError
from singerlake.lake import Lake, schemas
from singerlake.lake.feed.event import Committed, RunEnded
from singerlake.lake.feed.event import Event as FeedEvent
from singerlake.lineage.event import facet, schema
from singerlake.lineage.event.value import Event
from singerlake.lineage.job import landing
from singerlake.lineage.job.context import Context
from singerlake.lineage.job.landing import Landing
from singerlake.runtime import REAL, Runtime

Identity = tuple[str, str, str]
"""A tap, a run and a writer."""

Since = int | datetime | None
"""Nothing before: a sequence number, or a time."""

SCHEMAS = 1000
"""How many schemas are kept: those of streams that commit often are asked for once."""


RECENT = 100
"""Runs of a tap that are looked at once its whole log was read: new commits are of new runs."""


class Landings:
    """For one thread. A run's START comes before its commits, where its end is known by then."""

    def __init__(
        self, lake: Lake, context: Context, since: Since = None, runtime: Runtime = REAL
    ) -> None:
        self._lake, self._context, self._since, self._runtime = lake, context, since, runtime
        self._known: dict[Identity, tuple[datetime, tuple[str, ...]]] = {}
        self._asked: set[str] = set()
        self._read: set[str] = set()
        self._started: set[Identity] = set()
        self._noted: set[tuple[str, str]] = set()
        self._annotations: Mapping[str, Mapping[str, object]] | None = None
        self._schema: Callable[[str, str, str], facet.Schema | None] = lru_cache(SCHEMAS)(
            self._read_schema
        )

    def begin_round(self) -> None:
        """Runs that were open in the last round may have ended, and notes may have changed."""
        self._asked.clear()
        self._annotations = None

    def events_of(self, event: FeedEvent) -> list[Event]:
        """None for what is no landing, such as a vacuum."""
        if isinstance(event, Committed) and self._is_asked(event.time, event.last_sequence):
            return self._commit(event)
        if isinstance(event, RunEnded):
            last = max((one.last_sequence for one in event.streams.values()), default=0)
            if self._is_asked(event.ended, last):
                return self._end(event)
        return []

    def _is_asked(self, time: datetime, sequence: int) -> bool:
        if isinstance(self._since, int):
            return sequence > self._since
        return self._since is None or time >= self._since

    def _commit(self, commit: Committed) -> list[Event]:
        job = self._landing(commit)
        made: list[Event] = [] if job is None else self._start(job)
        within = self._context if job is None else job.context.within(job.run)
        schema_hash = commit.files[-1].schema_hash
        declared = self._schema(commit.tap, commit.stream, schema_hash)
        made += landing.commit_events(within, self._lake.store.url, commit, declared)
        return made + self._notes(commit.tap, commit.stream)

    def _start(self, job: Landing) -> list[Event]:
        identity = (job.tap, job.run_id, job.writer_id)
        if identity in self._started:
            return []
        self._started.add(identity)
        return [job.started(self._known[identity][1])]

    def _end(self, ended: RunEnded) -> list[Event]:
        identity = (ended.tap, ended.run_id, ended.writer_id)
        self._known[identity] = (ended.begun, tuple(ended.streams))
        job = self._job(identity)
        end = job.ended(ended.outcome, ended.reason, ended.ended, ended.streams)
        made = [*self._start(job), end]
        # Its commits came before: who follows a lake for years must not keep all of its runs.
        del self._known[identity]
        self._started.discard(identity)
        return made

    def _landing(self, commit: Committed) -> Landing | None:
        """The process that made a commit; None where the lake does not know when it began."""
        if not commit.run_id or not commit.writer_id:
            return None
        identity = (commit.tap, commit.run_id, commit.writer_id)
        if identity not in self._known and commit.tap not in self._asked:
            self._asked.add(commit.tap)
            limit = RECENT if commit.tap in self._read else None
            self._read.add(commit.tap)
            for run in self._lake.tap(commit.tap).runs(limit=limit):
                known = (run.begun, tuple(run.streams))
                self._known[run.tap_id, run.run_id, run.writer_id] = known
        return self._job(identity) if identity in self._known else None

    def _job(self, identity: Identity) -> Landing:
        return Landing(
            self._context, self._lake.store.url, *identity, begun=self._known[identity][0]
        )

    def _read_schema(self, tap: str, stream: str, schema_hash: str) -> facet.Schema | None:
        try:
            snapshot = self._lake.stream(tap, stream).snapshot()
            found = schemas.schemas(snapshot, [schema_hash]).get(schema_hash)
        except SingerlakeError:
            return None  # the event is of use without it, and the feed reports what is damaged
        return None if found is None else schema.of_stream(found)

    def _notes(self, tap: str, stream: str) -> list[Event]:
        if (tap, stream) in self._noted:
            return []
        self._noted.add((tap, stream))
        if self._annotations is None:
            self._annotations = self._lake.annotations()
        notes = self._annotations.get(tap, {})
        url, now = self._lake.store.url, self._runtime.now()
        return landing.notes_event(url, tap, stream, notes, now)
