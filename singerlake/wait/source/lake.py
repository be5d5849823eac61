"""Runs and commits of lakes, by cheap looks at the documents that change with them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from singerlake.errors import NotFound, SingerlakeError
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.manifest import File
from singerlake.format.run_log import Row, RunLog
from singerlake.lake import Lake, Selection, Snapshot, open_lake
from singerlake.lake.feed import followed, position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.follower import Follower, Look
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.runs import log as logs
from singerlake.runtime import REAL
from singerlake.store import Store
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import ALWAYS, Awaited, LakeCommit, LakeRun
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.window import Span

MOST_ANSWERS, MOST_DOCUMENTS = 20_000, 200

SLACK = timedelta(days=2)
"""Most writers' clocks differ by less: what is older is not of a window, nor what came before."""

ENOUGH_OLD = 50
"""So many in a row, at least: a single clock can be wrong by years."""

Open = Callable[[str], Lake]


class LakeSource:
    """Asks for each document once per interval, whoever waits for it, by a conditional request, and
    reads it once for each change. For any thread: share it among the waits of a process.

    `opened` opens a lake by the URL that an event has.
    """

    def __init__(self, opened: Open = open_lake, options: FeedOptions | None = None) -> None:
        self._open, self._options = opened, options or FeedOptions()
        self._lakes: dict[str, _Followed] = {}
        self._lock = threading.Lock()

    def anchored(self, event: LakeRun | LakeCommit) -> Awaited:
        if event.window or event.after or event.since or getattr(event, "sequence", None):
            return event
        now = REAL.now()
        try:
            with self._lock:
                place = self._followed(event.lake).end(event)
        except SingerlakeError:
            # Nothing is there yet, or it cannot be read now: then times have to do.
            return msgspec.structs.replace(event, since=now)
        return msgspec.structs.replace(event, after=place, since=now)

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        answers: dict[int, Answer] = {}
        with self._lock:
            for url in dict.fromkeys(one.event.lake for one in questions):
                mine = [at for at, one in enumerate(questions) if one.event.lake == url]
                try:
                    found = self._followed(url).look([questions[at] for at in mine])
                except SingerlakeError as error:
                    found = [error] * len(mine)
                answers.update(zip(mine, found, strict=True))
        return [answers[at] for at in range(len(questions))]

    def close(self) -> None:
        """Others may share it: what it knows is kept."""

    def _followed(self, url: str) -> _Followed:
        if url not in self._lakes:
            self._lakes[url] = _Followed(Follower(self._open(url).store, self._options))
        return self._lakes[url]


class _Followed:
    """One lake: the documents that were read, and the answers that they gave."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._read: OrderedDict[str, tuple[int, Snapshot | RunLog]] = OrderedDict()
        self._known: OrderedDict[Question, tuple[int, Answer]] = OrderedDict()

    def end(self, event: LakeRun | LakeCommit) -> Bookmark:
        """Where the document of an event ends now."""
        key = _key(event)
        self._follower.hint([key])
        look = self._follower.look([key])[key]
        if look.error is not None:
            raise look.error
        document = self._document(event, key, look.change)
        if isinstance(document, RunLog):
            return Bookmark(document.log_id, document.last_number)
        return position.end_of(document)

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        keys = [_key(one.event) for one in questions]
        self._follower.hint([key for one, key in zip(questions, keys, strict=True) if one.is_last])
        looks = self._follower.look(list(dict.fromkeys(keys)))
        return [
            self._answer(one, key, looks[key]) for one, key in zip(questions, keys, strict=True)
        ]

    def _answer(self, question: Question, key: str, look: Look) -> Answer:
        change, answer = self._known.get(question, (-1, None))
        # What is damaged may be mended while this document stays as it is: a segment comes back.
        if change == look.change and not isinstance(answer, SingerlakeError):
            return answer
        answer = self._fresh_answer(question, key, look)
        _keep(self._known, question, (look.change, answer), MOST_ANSWERS)
        return answer

    def _fresh_answer(self, question: Question, key: str, look: Look) -> Answer:
        if look.error is not None:
            return None if isinstance(look.error, NotFound) else look.error
        try:
            document = self._document(question.event, key, look.change)
            if isinstance(document, RunLog):
                return _run(self._follower.store, document, question.event, question.span)
            return _commit(document, question.event, question.span)
        except SingerlakeError as failure:
            return failure

    def _document(self, event: LakeRun | LakeCommit, key: str, change: int) -> Snapshot | RunLog:
        known = self._read.get(key)
        if known is not None and known[0] == change:
            return known[1]
        if isinstance(event, LakeRun):
            document: Snapshot | RunLog = followed.run_log(self._follower, RunKeys(event.tap))
        else:
            document = followed.snapshot(self._follower, StreamKeys(event.tap, event.stream))
        _keep(self._read, key, (change, document), MOST_DOCUMENTS)
        return document


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > most:
        cache.popitem(last=False)


def _key(event: LakeRun | LakeCommit) -> str:
    if isinstance(event, LakeRun):
        return RunKeys(event.tap).log
    keys = StreamKeys(event.tap, event.stream)
    return keys.manifest


# Runs


def _run(store: Store, log: RunLog, event: LakeRun, span: Span) -> Arrival | None:
    """The first such run, in the order of the log. Of the rows of one run the last counts."""
    is_log = event.after is not None and event.after.log_id == log.log_id
    first = event.after.sequence if is_log and event.after is not None else 0
    oldest = _back(max(filter(None, (event.since, span.start))))
    newest: dict[tuple[str, str], Row] = {}
    found: Row | None = None
    old = 0
    for row in logs.newest_rows(store, RunKeys(event.tap), log):
        if row.mark is None:
            # A row may be added long after its run has ended: one alone is not the end.
            old = old + 1 if row.ended < oldest else 0
        if row.number <= first or (not is_log and old > ENOUGH_OLD):
            break
        last = newest.setdefault(row.identity, row)
        if row.mark is not None:
            continue  # a correction: the run's own row comes later on this way back
        is_after = is_log or _is_since(row.ended, event.since)
        covers = set(event.streams) <= set(row.streams)
        if is_after and covers and last.outcome == "complete" and span.holds(row.ended):
            found = row
    return None if found is None else _run_arrival(event, log.log_id, found)


def _run_arrival(event: LakeRun, log_id: str, run: Row) -> Arrival:
    streams = {
        name: {"log_id": left.log_id, "sequence": left.last_sequence}
        for name, left in run.streams.items()
        if not event.streams or name in event.streams
    }
    records = sum(left.records for left in run.streams.values())
    return Arrival(
        time=run.ended,
        position={
            "log_id": log_id,
            "sequence": run.number,
            "run_id": run.run_id,
            "streams": streams,
        },
        text=f"run {run.run_id}: {records:,} records",
    )


# Commits


def _commit(snapshot: Snapshot, event: LakeCommit, span: Span) -> Arrival | None:
    """The first such commit, in the order of the log."""
    if event.sequence is not None:
        return _numbered(snapshot, event.sequence)
    after = event.after
    is_log = after is not None and snapshot.knows(after.log_id, after.sequence)
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
        if not since or all(row.committed < _back(oldest) for row in rows[: count // 2]):
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
