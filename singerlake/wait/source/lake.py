"""Runs and commits of lakes, by cheap looks at the documents that change with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from singerlake.errors import NotFound, SingerlakeError
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Lake, Run, Selection, Snapshot, open_lake
from singerlake.lake.feed import position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.runs import log as run_logs
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import ALWAYS, Awaited, LakeCommit, LakeRun
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.window import Span

SLACK = timedelta(days=2)
"""Writers' clocks differ by less: older commits are not looked through for those of a window."""

Open = Callable[[str], Lake]


class LakeSource:
    """Asks each document once per look, whoever waits for it, by a conditional request.

    `opened` opens a lake by the URL that an event has.
    """

    def __init__(self, opened: Open = open_lake, options: FeedOptions | None = None) -> None:
        self._open, self._options = opened, options or FeedOptions()
        self._lakes: dict[str, tuple[Lake, Follower]] = {}
        self._known: dict[Question, tuple[int, Answer]] = {}

    def anchored(self, event: LakeRun | LakeCommit) -> Awaited:
        if event.window or event.after or event.since or getattr(event, "sequence", None):
            return event
        lake, follower = self._lake(event.lake)
        now = follower.runtime.now()
        try:
            if isinstance(event, LakeRun):
                log = run_logs.read_head(lake.store, RunKeys(event.tap)).log
                place = Bookmark(log.log_id, log.last_number)
            else:
                place = position.end_of(lake.stream(event.tap, event.stream).snapshot())
        except SingerlakeError:
            # Nothing is there yet, or it cannot be read now: then times have to do.
            return msgspec.structs.replace(event, since=now)
        return msgspec.structs.replace(event, after=place, since=now)

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        answers: dict[Question, Answer] = {}
        for url in dict.fromkeys(one.event.lake for one in questions):
            mine = [one for one in questions if one.event.lake == url]
            try:
                answers.update(self._look_in(url, mine))
            except SingerlakeError as error:
                answers.update(dict.fromkeys(mine, error))
        self._known = {one: self._known[one] for one in questions if one in self._known}
        return [answers[one] for one in questions]

    def close(self) -> None:
        self._lakes.clear()

    def _lake(self, url: str) -> tuple[Lake, Follower]:
        if url not in self._lakes:
            lake = self._open(url)
            self._lakes[url] = lake, Follower(lake.store, self._options)
        return self._lakes[url]

    def _look_in(self, url: str, questions: Sequence[Question]) -> dict[Question, Answer]:
        lake, follower = self._lake(url)
        keys = {one: _key(one.event) for one in questions}
        looks = follower.look(list(dict.fromkeys(keys.values())))
        answers: dict[Question, Answer] = {}
        for one in questions:
            look = looks[keys[one]]
            change, answer = self._known.get(one, (-1, None))
            if change != look.change or isinstance(answer, SingerlakeError):
                answer = _answer(lake, one, look.error)
                self._known[one] = look.change, answer
            answers[one] = answer
        return answers


def _key(event: LakeRun | LakeCommit) -> str:
    if isinstance(event, LakeRun):
        return RunKeys(event.tap).log
    return StreamKeys(event.tap, event.stream).manifest


def _answer(lake: Lake, question: Question, error: SingerlakeError | None) -> Answer:
    if error is not None:
        return None if isinstance(error, NotFound) else error
    try:
        if isinstance(question.event, LakeRun):
            return _run(lake, question.event, question.span)
        return _commit(lake, question.event, question.span)
    except SingerlakeError as failure:
        return failure


# Runs


def _run(lake: Lake, event: LakeRun, span: Span) -> Arrival | None:
    """The first such run, in the order of the log."""
    log = run_logs.read_head(lake.store, RunKeys(event.tap)).log
    is_log = event.after is not None and event.after.log_id == log.log_id
    first = event.after.sequence if is_log and event.after is not None else 0
    oldest = None if is_log else max(filter(None, (event.since, span.start)))
    found = None
    for run in _newest_runs(lake, event.tap, oldest):
        is_after = run.first_number > first if is_log else _is_since(run.ended, event.since)
        covers = set(event.streams) <= set(run.streams)
        if is_after and covers and run.outcome == "complete" and span.holds(run.ended):
            found = run
    return None if found is None else _run_arrival(event, log.log_id, found)


def _newest_runs(lake: Lake, tap: str, oldest: datetime | None) -> Iterator[Run]:
    """Runs as the newest rows have them, back to what ended long before `oldest`."""
    limit = 50
    while True:
        runs = lake.tap(tap).runs(limit=limit)
        is_all = len(runs) < limit
        if is_all or (oldest is not None and runs[0].ended < _back(oldest)):
            break
        limit *= 4
    yield from sorted(runs, key=lambda run: -run.first_number)


def _run_arrival(event: LakeRun, log_id: str, run: Run) -> Arrival:
    streams = {
        name: {"log_id": left.log_id, "sequence": left.last_sequence}
        for name, left in run.streams.items()
        if not event.streams or name in event.streams
    }
    return Arrival(
        time=run.ended,
        position={
            "log_id": log_id,
            "sequence": run.number,
            "run_id": run.run_id,
            "streams": streams,
        },
        text=f"run {run.run_id}: {run.records:,} records",
    )


# Commits


def _commit(lake: Lake, event: LakeCommit, span: Span) -> Arrival | None:
    """The first such commit, in the order of the log."""
    snapshot = lake.stream(event.tap, event.stream).snapshot()
    if event.sequence is not None:
        return _numbered(snapshot, event.sequence)
    is_log = event.after is not None and event.after.log_id == snapshot.log_id
    if event.after is not None and (is_log or event.since is None):
        position.require(snapshot, event.after)
    if is_log and event.after is not None:
        rows = list(snapshot.commits(Selection(since=event.after.sequence)))
    else:
        oldest = max(filter(None, (event.since, span.start)))
        rows = [row for row in _newest(snapshot, oldest) if _is_since(row.committed, event.since)]
    found = next((row for row in rows if span.holds(row.committed)), None)
    return None if found is None else _commit_arrival(snapshot, found)


def _newest(snapshot: Snapshot, oldest: datetime) -> list[File]:
    """Commits in order, from those on that were made long before a time."""
    count = 100
    while True:
        since = max(snapshot.last_sequence - count, 0)
        rows = list(snapshot.commits(Selection(since=since)))
        if not since or (rows and rows[0].committed < _back(oldest)):
            return rows
        count *= 4


def _numbered(snapshot: Snapshot, sequence: int) -> Arrival | None:
    """The commit of a number; where its file is lost, the number came all the same."""
    if snapshot.last_sequence < sequence:
        return None
    rows = snapshot.commits(Selection(since=sequence - 1, until=sequence))
    found = next(rows, None)
    if found is not None:
        return _commit_arrival(snapshot, found)
    newest = snapshot.newest_file()
    return Arrival(
        time=ALWAYS.start if newest is None else newest.committed,
        position=Bookmark(snapshot.log_id, sequence).to_json(),
        text=f"sequence {sequence}: its file is lost",
    )


def _commit_arrival(snapshot: Snapshot, row: File) -> Arrival:
    return Arrival(
        time=row.committed,
        position=position.at(snapshot, row.sequence).to_json(),
        text=f"sequence {row.sequence}: {row.records:,} records",
    )


def _is_since(moment: datetime, since: datetime | None) -> bool:
    return since is None or moment >= since


def _back(moment: datetime) -> datetime:
    try:
        return moment - SLACK
    except OverflowError:
        return moment
