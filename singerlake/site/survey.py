"""What the site tells of a stream: read from its manifest, its segments and a few first lines.

The files of a log are counted as they pass. What stays is as large as a page, not as the log.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone

from singerlake.errors import (
    BadName,
    BusyError,
    DamageError,
    InputError,
    UnknownStream,
    UnsupportedFormat,
)
from singerlake.format import catalogue, message, singer_file
from singerlake.format.catalogue import Entry
from singerlake.format.manifest import File
from singerlake.format.schema import Schema
from singerlake.lake import Snapshot, Stream
from singerlake.lake.arrivals import Arrivals, arrivals
from singerlake.lake.provenance import committed_rows
from singerlake.site.lineage import NOTHING_KNOWN, LineageFacts
from singerlake.site.tables import TableFacts

BUCKETS = 60
"""Bars of a chart: more would be thinner than a finger or an eye wants."""

VERSIONS = 20
"""The newest schema versions, which are compared: each older one costs a request to read."""

NEWEST = 20
"""Files that are listed."""

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8, sys.maxsize)
"""Bounds of the classes in which file sizes are counted."""

NOTHING = arrivals((), BUCKETS)


@dataclass(frozen=True)
class VersionFacts:
    """A schema version: `schema` is None where no file, nor the catalogue, tells it any more."""

    number: int
    schema_hash: str
    first_seen: datetime | None
    schema: Schema | None
    files: int
    records: int


@dataclass(frozen=True)
class Day:
    """What arrived in a day."""

    records: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: Day) -> Day:
        return Day(self.records + other.records, self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True)
class StreamFacts:
    """A stream as its page tells it.

    `records` is None where only the manifest could tell it, and it is gone. `versions` holds the
    newest, oldest first; `version_count` counts all. `problems` are what stood in the way.
    """

    tap_id: str
    name: str
    schema: Schema
    versions: tuple[VersionFacts, ...] = ()
    version_count: int = 0
    files: int = 0
    records: int | None = 0
    bytes: int = 0
    raw_bytes: int = 0
    last_sequence: int = 0
    last_commit: datetime | None = None
    first_record: datetime | None = None
    last_record: datetime | None = None
    arrivals: Arrivals = NOTHING
    days: Mapping[date, Day] = field(default_factory=dict)
    sizes: tuple[int, ...] = (0,) * len(SIZES)
    newest: tuple[File, ...] = ()
    tables: tuple[TableFacts, ...] = ()
    lineage: LineageFacts = NOTHING_KNOWN
    problems: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        told = self.schema.schema.get("description")
        return told if isinstance(told, str) else ""


@dataclass
class _Tally:
    """Counts the files of a log as they pass."""

    files: int = 0
    records: int = 0
    bytes: int = 0
    raw_bytes: int = 0
    last_commit: datetime | None = None
    first: datetime | None = None
    last: datetime | None = None
    days: dict[date, Day] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)
    newest: deque[File] = field(default_factory=lambda: deque(maxlen=NEWEST))
    files_of: Counter[str] = field(default_factory=Counter)
    records_of: Counter[str] = field(default_factory=Counter)
    latest_of: dict[str, File] = field(default_factory=dict)

    def passing(self, files: Iterable[File]) -> Iterator[File]:
        for file in files:
            self._count(file)
            yield file

    def arriving(self, commits: Iterable[File]) -> Iterator[File]:
        for row in commits:
            day = row.committed.astimezone(timezone.utc).date()
            self.days[day] = self.days.get(day, Day()) + Day(max(row.records, 0), 1, row.bytes)
            yield row

    def _count(self, file: File) -> None:
        records = max(file.records, 0)
        self.files += 1
        self.records += records
        self.bytes += file.bytes
        self.raw_bytes += max(file.raw_bytes, 0)
        self.last_commit = max(self.last_commit or file.committed, file.committed)
        self.first = min(self.first or file.first, file.first)
        self.last = max(self.last or file.last, file.last)
        self.sizes[next(n for n, bound in enumerate(SIZES) if file.bytes < bound)] += 1
        self.newest.append(file)
        self.files_of[file.schema_hash] += 1
        self.records_of[file.schema_hash] += records
        self.latest_of[file.schema_hash] = file


def survey(stream: Stream, entry: Entry) -> StreamFacts:
    """Read a stream, given what its tap's catalogue says of it.

    Damage is told among the problems. A store that does not answer is an error: a site that
    says nothing of half the lake is worse than yesterday's.
    """
    schema = catalogue.schema_of(entry)
    try:
        snapshot = stream.snapshot()
        tally = _Tally()
        commits = committed_rows(stream.store, snapshot.keys, tally.passing(snapshot.files()))
        over_time = arrivals(tally.arriving(commits), BUCKETS)
    except (DamageError, BadName, UnknownStream, UnsupportedFormat) as error:
        return StreamFacts(stream.tap_id, stream.name, schema, problems=(str(error),))
    problems: list[str] = []
    if snapshot.by_listing:
        problems.append(
            "The manifest is missing: the files are listed, and their records are not counted. "
            "`singerlake rebuild` makes it again."
        )
    versions = _versions(snapshot, schema, tally, problems)
    return StreamFacts(
        tap_id=stream.tap_id,
        name=stream.name,
        schema=schema,
        versions=tuple(versions[-VERSIONS:]),
        version_count=len(versions),
        files=tally.files,
        records=None if snapshot.by_listing else tally.records,
        bytes=tally.bytes,
        raw_bytes=tally.raw_bytes,
        last_sequence=snapshot.last_sequence,
        last_commit=tally.last_commit,
        first_record=tally.first,
        last_record=tally.last,
        arrivals=over_time,
        days=tally.days,
        sizes=tuple(tally.sizes[number] for number in range(len(SIZES))),
        newest=tuple(reversed(tally.newest)),
        problems=tuple(problems),
    )


def _versions(
    snapshot: Snapshot, newest: Schema, tally: _Tally, problems: list[str]
) -> list[VersionFacts]:
    """From the oldest to the newest; only the last `VERSIONS` have their schemas read."""
    known = snapshot.versions
    hashes = sorted(known, key=lambda one: known[one].version) or list(tally.files_of)
    registered = newest.hash()
    found = []
    for number, schema_hash in enumerate(hashes, start=1):
        schema = None
        if schema_hash == registered:
            schema = newest
        elif number > len(hashes) - VERSIONS and schema_hash in tally.latest_of:
            schema = _schema_of(snapshot, tally.latest_of[schema_hash], problems)
        version = known.get(schema_hash)
        found.append(
            VersionFacts(
                number=version.version if version else number,
                schema_hash=schema_hash,
                first_seen=version.first_seen if version else None,
                schema=schema,
                files=tally.files_of[schema_hash],
                records=tally.records_of[schema_hash],
            )
        )
    return found


def _schema_of(snapshot: Snapshot, file: File, problems: list[str]) -> Schema | None:
    try:
        line = singer_file.schema_line(snapshot.blocks(file), file.path)
        return message.decode_schema(line)
    except (BusyError, DamageError, InputError) as error:
        problems.append(str(error))
        return None
