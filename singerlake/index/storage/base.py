"""The contract of every storage: what an index is asked for, and how it is changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import msgspec

from singerlake.format.run import Outcome
from singerlake.index.entry import Entry
from singerlake.index.page import PAGE
from singerlake.index.query import Position, Query
from singerlake.index.summary import By, Tally
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor


class Holder(msgspec.Struct, frozen=True):
    """The object that holds these numbers of a stream today."""

    first_sequence: int
    last_sequence: int
    path: str
    merged: bool


class Lack(msgspec.Struct, frozen=True):
    """Numbers of a stream that no file bears any more, and why. `time` is in microseconds; None
    where nobody recorded it."""

    tap: str
    stream: str
    first_sequence: int
    last_sequence: int
    reason: str
    time: int | None


class EndedRun(msgspec.Struct, frozen=True):
    """A run whose end is known. Times are in microseconds."""

    tap: str
    run_id: str
    writer_id: str
    outcome: Outcome
    begun: int
    ended: int
    streams: tuple[str, ...]


class Change(ABC):
    """A change of one stream, or of a tap's runs: all of it is stored, or nothing.

    Where a storage has no transactions, everything is written so that it may be written again, and
    the bookmark last.
    """

    bookmark: Bookmark | None
    """Where the stream stood when the change began; None before its first."""

    @abstractmethod
    def clear(self) -> None:
        """Forget all of the stream, or how all of the tap's runs ended."""

    @abstractmethod
    def add(self, entries: Sequence[Entry]) -> None:
        """Entries that are not in the index yet."""

    @abstractmethod
    def hold(self, first: int, last: int, holders: Sequence[Holder]) -> None:
        """Numbers of the stream have other holders from now on."""

    @abstractmethod
    def lose(self, lack: Lack) -> None:
        """Numbers of the stream are gone, with their entries where there are any."""

    @abstractmethod
    def end_run(self, run: EndedRun) -> None:
        """A run of the tap ended, or the outcome of an ended one was corrected."""

    @abstractmethod
    def keep(self, bookmark: Bookmark) -> None:
        """Where the stream stands with this change. Once, and last."""


class Storage(ABC):
    """An index. Reading is safe from any thread; each change is made by one."""

    url: str
    """Without a password."""

    @property
    @abstractmethod
    def lake_id(self) -> str | None:
        """The id of the lake that the index is of; None in a new index."""

    @abstractmethod
    def bind(self, lake_id: str, root: str = "") -> None:
        """Make it the index of a lake; `root` is its address, which a storage may keep.

        Raises `ConfigError` where it is that of another.
        """

    # Questions

    @abstractmethod
    def page(self, query: Query, after: Position | None = None, limit: int = PAGE) -> list[Entry]:
        """The first entries of the answer behind a position, in the order of `query.position`."""

    @abstractmethod
    def count(self, query: Query) -> int:
        """How many entries the whole answer has."""

    @abstractmethod
    def latest(self, tap: str, stream: str, since: int | None = None) -> Entry | None:
        """The newest entry of a stream by start, and of several by `create_time`; none that begins
        before `since`. See `newest`: in a stream that names files it is one of them."""

    @abstractmethod
    def names_files(self, tap: str, stream: str) -> bool:
        """Whether records of a stream name files of any kind."""

    @abstractmethod
    def by_id(self, id: str) -> Entry | None:
        """The entry with an id; any text may be asked for."""

    @abstractmethod
    def summary(self, query: Query, by: By) -> list[Tally]:
        """What the answer adds up to, in the order of the keys."""

    @abstractmethod
    def streams(self) -> list[tuple[str, str]]:
        """The taps and streams that have been indexed, in order."""

    # Everything, for exports and comparisons

    @abstractmethod
    def entries(self, tap: str, stream: str) -> Iterator[Entry]:
        """The entries of a stream in the order of its log, without uploads."""

    @abstractmethod
    def uploads(self) -> Iterator[Entry]:
        """All uploads, by id."""

    @abstractmethod
    def lacks(self, tap: str, stream: str) -> list[Lack]:
        """The lost numbers of a stream, in order."""

    @abstractmethod
    def runs(self) -> Iterator[EndedRun]:
        """The runs whose end is known, by tap, run and writer."""

    # Changes

    @abstractmethod
    def cursor(self) -> Cursor:
        """Where the index stands in the feed."""

    @abstractmethod
    def change(self, tap: str, stream: str = "") -> AbstractContextManager[Change]:
        """Change a stream, or without one a tap's runs. An exception takes the change back."""

    @abstractmethod
    def drop(self, tap: str, stream: str) -> None:
        """Forget a stream, its bookmark too."""

    @abstractmethod
    def put_uploads(self, entries: Sequence[Entry]) -> None:
        """Store entries that have an `upload`, each in place of the one with its id."""

    @abstractmethod
    def forget(self) -> None:
        """Forget the lake and all of its entries, runs and bookmarks; uploads stay."""

    @abstractmethod
    def close(self) -> None:
        """No question follows."""
