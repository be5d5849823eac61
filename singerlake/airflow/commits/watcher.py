"""`CommitWatcher`: commits of a stream start DAGs. No commit is lost when the triggerer dies.

An asset event rings; it does not deliver. Airflow makes one run of several events that are queued,
so a DAG reads what is new from its own bookmark: see `new_commits`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from typing import Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetWatcher
from airflow.sdk.execution_time.context import AssetStateStoreAccessor
from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from singerlake.airflow import settings
from singerlake.airflow.commits.following import Following, end_of, pause_after
from singerlake.lake import Bookmark

BOOKMARK = "singerlake_bookmark"
"""The key in the asset's state."""

ADVANCE_SECONDS = 60.0
"""How long the bookmark is tried to be kept. Then Airflow starts the watcher anew."""

_log = logging.getLogger(__name__)


class CommitWatcher(BaseEventTrigger):
    """Rings once for all commits that one look finds.

    The bookmark is in the asset's state. It moves once Airflow has the asset's event in its
    database. `asset` is the asset's name: Airflow takes two watchers with equal arguments for one.
    With `from_start`, commits ring that were there before anybody watched.
    """

    def __init__(
        self,
        *,
        tap: str,
        stream: str,
        asset: str,
        lake: str = "",
        interval: float = 5.0,
        from_start: bool = False,
    ) -> None:
        super().__init__()
        self.tap, self.stream, self.asset, self.lake = tap, stream, asset, lake
        self.interval, self.from_start = interval, from_start

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("tap", "stream", "asset", "lake", "interval", "from_start")
        return f"{__name__}.CommitWatcher", {name: getattr(self, name) for name in names}

    def shared_stream_key(self) -> Hashable:
        return ("singerlake", *self.serialize()[1].values())

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        return _Producer(**kwargs)

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[Any]
    ) -> AsyncIterator[TriggerEvent]:
        async for payload in shared_stream:
            yield TriggerEvent(payload)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        raise NotImplementedError("Airflow 3.3 runs a watcher by its shared stream")
        yield


class _Producer(SharedStreamProducer):
    def __init__(
        self, tap: str, stream: str, asset: str, lake: str, interval: float, from_start: bool
    ) -> None:
        self._tap, self._stream, self._lake = tap, stream, lake
        self._interval, self._from_start = interval, from_start
        self._state = AssetStateStoreAccessor(name=asset)

    async def open_stream(self) -> AsyncIterator[tuple[Any, Any]]:
        following = await self._patiently(self._begin)
        while True:
            found = await self._patiently(lambda: asyncio.to_thread(following.look))
            if found is not None:
                yield found.payload, found.bookmark.to_json()
            if found is None or not found.is_more:
                await asyncio.sleep(self._interval)

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Raises where Airflow did not take an event: it comes again, from the bookmark on."""
        if not all(item.outcome.is_clean for item in batch):
            raise RuntimeError("Airflow did not take an event of a commit: begin at the bookmark")
        await asyncio.wait_for(
            self._patiently(lambda: self._state.aset(BOOKMARK, batch[-1].broker_payload)),
            ADVANCE_SECONDS,
        )

    async def _begin(self) -> Following:
        lake = await asyncio.to_thread(settings.opened_lake, self._lake)
        kept = await self._state.aget(BOOKMARK)
        place = None if kept is None else Bookmark.parse(kept)
        if place is None and not self._from_start:
            place = await asyncio.to_thread(end_of, lake, self._tap, self._stream)
            # Kept before the first look: what is committed after a crash has to ring.
            await self._state.aset(BOOKMARK, place.to_json())
        return Following.open(lake, self._tap, self._stream, place, self._interval)

    async def _patiently(self, work: Callable[[], Any]) -> Any:
        """Until it works: a lake or a database that is away ends no watcher."""
        failures = 0
        while True:
            try:
                return await work()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                failures += 1
                pause = pause_after(failures, self._interval)
                _log.warning(
                    "the watcher of %s/%s goes on in %g seconds (%s: %s)",
                    self._tap,
                    self._stream,
                    pause,
                    type(error).__name__,
                    error,
                )
                await asyncio.sleep(pause)


def commits_of(
    tap: str,
    stream: str,
    *,
    lake: str = "",
    name: str = "",
    interval: float = 5.0,
    from_start: bool = False,
) -> Asset:
    """The asset of a stream, which changes with each commit: for `schedule=[…]`.

    Without `lake`, it is $SINGERLAKE_ROOT.
    """
    title = name or f"{tap}/{stream}"
    watcher = CommitWatcher(
        tap=tap,
        stream=stream,
        asset=title,
        lake=lake,
        interval=interval,
        from_start=from_start,
    )
    return Asset(
        name=title,
        uri=_uri(tap, stream),
        watchers=[AssetWatcher(name=f"commits of {title}"[:250], trigger=watcher)],
        extra={"singerlake": {"lake": lake, "tap": tap, "stream": stream}},
    )


def _uri(tap: str, stream: str) -> str:
    return f"x-singerlake://{quote(tap, safe='')}/{quote(stream, safe='')}"
