"""The sources of all waits of a process: one poll for all of them.

A desk stands before each lake, Kafka and database. It takes the questions of everybody who asks in
one moment together to its source, in a thread of its own. One that hangs keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

from singerlake.airflow import settings
from singerlake.errors import SingerlakeError, Unavailable
from singerlake.lake import FeedOptions
from singerlake.wait.event import Awaited, HttpEvent, KafkaEvent, LakeCommit, LakeRun, OwnEvent
from singerlake.wait.source.base import Answer, Question, Source

PATIENCE = 30.0
"""Seconds after which a question counts as not answered now."""

ASK_EARLIER = 0.8
"""Of the interval: everybody looks at the same ticks, and no tick may come too early by a hair."""

_log = logging.getLogger(__name__)


class Sources:
    """For one event loop. `made` makes the source of an event, and the key of its desk."""

    def __init__(
        self, made: Callable[[Awaited, float], tuple[Hashable, Callable[[], Source]]] | None = None
    ) -> None:
        self._made = made or source_of
        self._desks: dict[Hashable, _Desk] = {}

    async def ask(
        self, questions: Sequence[Question], interval: float, patience: float = PATIENCE
    ) -> list[tuple[Question, Answer]]:
        """An answer to each question, after so many seconds at the latest."""
        asked = [self._desk(one.event, interval).ask(one) for one in questions]
        if asked:
            await asyncio.wait(asked, timeout=patience)
        return [
            (question, _answer(future, patience))
            for question, future in zip(questions, asked, strict=True)
        ]

    def _desk(self, event: Awaited, interval: float) -> _Desk:
        key, make = self._made(event, interval)
        if key not in self._desks:
            self._desks[key] = _Desk(make)
        return self._desks[key]


class _Desk:
    def __init__(self, make: Callable[[], Source]) -> None:
        self._make = make
        self._source: Source | None = None
        self._waiting: dict[asyncio.Future[Answer], Question] = {}
        self._serving: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="singerlake-wait")

    def ask(self, question: Question) -> asyncio.Future[Answer]:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[future] = question
        # Who has waited for long enough is forgotten, also where the source hangs for ever.
        future.add_done_callback(lambda done: self._waiting.pop(done, None))
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
        return future

    async def _serve(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(0)  # for all who ask in this moment
                taken, self._waiting = self._waiting, {}
                loop, asked = asyncio.get_running_loop(), list(taken.values())
                answers = await loop.run_in_executor(self._thread, self._look, asked)
                for future, answer in zip(list(taken), answers, strict=True):
                    if not future.done():
                        future.set_result(answer)
        finally:
            self._serving = None

    def _look(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """In the thread. Whatever goes wrong is an answer: a wait ends at its deadline only."""
        try:
            if self._source is None:
                self._source = self._make()
            return self._source.look(questions)
        except SingerlakeError as error:
            return [error] * len(questions)
        except Exception as error:
            _log.exception("a source of awaited events failed")
            return [Unavailable(f"{type(error).__name__}: {error}")] * len(questions)


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, Sources] = WeakKeyDictionary()


def shared() -> Sources:
    """Those of the running event loop."""
    return _SHARED.setdefault(asyncio.get_running_loop(), Sources())


def source_of(event: Awaited, interval: float) -> tuple[Hashable, Callable[[], Source]]:
    """A lake each, a Kafka each: where one does not answer, the others do."""
    if isinstance(event, (LakeRun, LakeCommit)):
        return ("lake", event.lake, interval), lambda: _lake(interval)
    if isinstance(event, KafkaEvent):
        config = json.dumps(dict(event.config), sort_keys=True)
        return ("kafka", config, event.config_file), _kafka
    if isinstance(event, HttpEvent):
        url = settings.database_url()
        return ("http", url), lambda: _inbox(url)
    if isinstance(event, OwnEvent):
        return ("own", event.source), _own
    raise Unavailable(f"nobody knows where an event {type(event).__name__} comes from")


def _lake(interval: float) -> Source:
    from singerlake.wait.source.lake import LakeSource

    seconds = interval * ASK_EARLIER
    return LakeSource(settings.opened_lake, FeedOptions(seconds, seconds))


def _kafka() -> Source:
    from singerlake.wait.source.kafka import KafkaSource

    return KafkaSource()


def _own() -> Source:
    from singerlake.wait.source.own import OwnSource

    return OwnSource()


def _inbox(url: str) -> Source:
    from singerlake.wait.inbox import Inbox
    from singerlake.wait.source.inbox import InboxSource
    from singerlake.wait.status.database import open_database

    return InboxSource(Inbox(open_database(url)))


def _answer(future: asyncio.Future[Answer], patience: float) -> Answer:
    if future.done():
        return future.result()
    future.cancel()
    return Unavailable(f"expected an answer within {patience:g} seconds, found none")
