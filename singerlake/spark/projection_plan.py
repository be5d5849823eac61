"""The plan of a projection: what is published, and what of the raw log comes after it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
from pyspark.sql.types import StructType

from singerlake.decode import version_union
from singerlake.errors import ConfigError, MissingManifest, StaleBookmark
from singerlake.format.manifest import File
from singerlake.format.record_type import Type
from singerlake.lake import Bookmark, Selection, Snapshot, replication
from singerlake.lake.extent import ALL, Extent, covered
from singerlake.lake.feed import position
from singerlake.lake.replication import Current, Method
from singerlake.projection import document as documents
from singerlake.projection.document import Settings
from singerlake.projection.file_format import FORMATS
from singerlake.projection.publication import PublishedHead
from singerlake.spark import layout, options, source, views
from singerlake.spark.evolution import marked, merged, record_of
from singerlake.spark.options import ReadOptions
from singerlake.spark.stream_state import StreamState

MODES = ("append", "current", "last_run")

TASK_BYTES = 32 * 1024 * 1024
"""Raw bytes for which a task, and with it a file, is worth while."""


@dataclass(frozen=True)
class ProjectionPlan:
    """The raw `files` after `since`, up to `end`, and the version that they come after.

    If `case_sensitive`, Spark tells columns apart whose names differ in case only.
    """

    snapshot: Snapshot
    head: PublishedHead
    settings: Settings
    since: int
    end: Bookmark
    full: bool
    files: tuple[File, ...]
    case_sensitive: bool = False
    decided: Current | None = None

    @property
    def until(self) -> int:
        """The last number that is published then."""
        return self.end.sequence

    @property
    def run(self) -> tuple[str, str] | None:
        """The run of the tap whose rows are published, by run id and writer id; None for all."""
        run = self.decided and self.decided.run
        return run.identity if run else None

    @property
    def is_needed(self) -> bool:
        """Whether there is something to publish; a stream without a log has never had a record."""
        before = self.head.published
        if not self.snapshot.log_id:
            return False
        if before is None or self.full or before.sequence < self.until:
            return True
        return before.run != self.run

    @property
    def appends(self) -> bool:
        """Whether the version before stays, and files are added to it."""
        return self.settings.mode == "append" and not self.full

    @property
    def records(self) -> int | None:
        """How many records are to be read; None where a merged file holds older ones too."""
        wanted = self.selection
        known = all(wanted.holds_all_of(file) for file in self.files)
        return sum(file.records for file in self.files) if known else None

    @property
    def selection(self) -> Selection:
        """The commits that are published."""
        decided = self.decided.selection if self.decided else Selection()
        return replace(decided, since=self.since, until=self.until)

    @property
    def tasks(self) -> int:
        """How many tasks are worth while: each makes a file, and many small ones are a burden."""
        return 1 + sum(file.raw_bytes for file in self.files) // TASK_BYTES

    @property
    def keys(self) -> tuple[str, ...]:
        """The key properties that the tap sent last, as of the snapshot."""
        return self.state.merged.key_properties

    @property
    def columns(self) -> dict[str, Type]:
        """The record's columns."""
        return dict(self.state.merged.record.fields)

    def require_columns(self) -> None:
        """Raises `ConfigError` where the stream's columns and the settings do not go together."""
        found, settings = self.state.merged, self.settings
        schema = source.spark_schema(found, self._options)
        layout.require_columns(schema, settings.partition_by, settings.sort_by)
        # A stream that declares no property comes whole.
        if settings.mode == "current" and found.record.fields:
            views.require_current(found, self._options, self.keys)
        before = self.head.published
        if before is not None and self.appends:
            documents.require_typed(before, record_of(self.grown(self.marked(schema))))

    def marked(self, schema: StructType) -> StructType:
        """The schema of the files, with what each string is."""
        return marked(schema, self.state.merged.record)

    def grown(self, schema: StructType) -> StructType:
        """The version's schema, once it has files with this one."""
        before = self.head.published
        if before is None or not self.appends:
            return schema
        return merged(StructType.fromJson(before.schema), schema)

    @cached_property
    def state(self) -> StreamState:
        """The stream for all reads of this run: what is registered meanwhile is for the next."""
        merged = version_union.of_stream(self.snapshot, self._options.request)
        return StreamState(self.snapshot, merged)

    @property
    def _options(self) -> ReadOptions:
        return options.parse(
            {
                "path": self.snapshot.store.url,
                "tap": self.snapshot.keys.tap_id,
                "stream": self.snapshot.keys.stream,
                "metadata": json.dumps(self.settings.metadata),
                "numbers": self.settings.numbers,
                "caseSensitive": str(self.case_sensitive),
                "until": str(self.until),
            }
        )


def checked(settings: Settings) -> Settings:
    """The settings as the document has them; lists become tuples. Raises `ConfigError`."""
    if settings.format not in FORMATS or settings.mode not in MODES:
        raise ConfigError(
            f"format {settings.format!r}, mode {settings.mode!r}: expected one of "
            f"{', '.join(FORMATS)}, and {' or '.join(MODES)}"
        )
    try:
        return msgspec.convert(msgspec.to_builtins(settings), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"these settings of a projection cannot be: {error}") from None


def planned(
    snapshot: Snapshot,
    head: PublishedHead,
    settings: Settings,
    *,
    full: bool = False,
    case_sensitive: bool = False,
    extent: Extent = ALL,
    method: Method | None = None,
) -> ProjectionPlan:
    """What to do, by what is published and what the raw log has.

    `extent` may be as of a moment; `method` says how the tap sends the stream.

    Raises `ConfigError` where the settings do not go with what is published, or with the columns.
    """
    keys = snapshot.keys
    where = f"stream {keys.stream!r} of {keys.tap_id!r} in {snapshot.store.url}"
    if snapshot.by_listing:
        raise MissingManifest(
            f"{where}: its manifest is missing, so nothing tells what was published already; "
            "run `singerlake rebuild` first"
        )
    since, before = 0, head.published
    if before is not None and not full:
        documents.require_same(before, settings)
        try:
            position.require(snapshot, before.bookmark)
        except StaleBookmark:
            raise StaleBookmark(
                f"{where}: what is published goes up to {before.sequence} of the log "
                f"{before.log_id}, and this one is {snapshot.log_id}, up to "
                f"{snapshot.last_sequence}, with other numbers: another lake, an older manifest "
                "that was put back, or a rebuild. Use --full to publish the stream anew"
            ) from None
        since = before.sequence if settings.mode == "append" else 0
    decided = _decided(snapshot, settings, extent, method)
    ends = (snapshot.last_sequence, decided.selection.until)
    end = position.at(snapshot, min(number for number in ends if number is not None))
    plan = ProjectionPlan(snapshot, head, settings, since, end, full, (), case_sensitive, decided)
    plan = replace(plan, files=tuple(snapshot.files(plan.selection)))
    if plan.is_needed:
        plan.require_columns()
    return plan


def _decided(
    snapshot: Snapshot, settings: Settings, extent: Extent, method: Method | None
) -> Current:
    """Which commits a mode is about."""
    if settings.mode == "current":
        return replication.current(snapshot, extent, method)
    if settings.mode == "last_run":
        last = covered(snapshot, replace(extent, runs="last"))
        return Current(last.selection, last.run)
    return Current(covered(snapshot, extent).selection)
