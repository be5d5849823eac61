"""Project: a stream as typed files, published whole, each record once.

The driver looks what was committed since the version that is published, the executors write it to
new files, and one conditional put publishes them together with the place in the log up to which
they go. A run that dies before that put has published nothing; one that dies after it, all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from singerlake.decode.misfit import Tally, described
from singerlake.errors import DamageError
from singerlake.lake import clock, open_on
from singerlake.lake.extent import COMPLETE, AsOf, Extent
from singerlake.lake.feed import position
from singerlake.lake.parallel import Progress, no_progress
from singerlake.lake.replication import Method
from singerlake.projection import document as documents
from singerlake.projection.cleanup import GRACE, clean
from singerlake.projection.document import Published, PublishedFile, PublishedKeys, Settings
from singerlake.projection.publication import put, read_published_head, require_staged
from singerlake.spark import layout
from singerlake.spark.failure import explained
from singerlake.spark.lend import share
from singerlake.spark.observed import MISFITS
from singerlake.spark.projection_plan import ProjectionPlan, checked, planned
from singerlake.spark.read import load, options_of
from singerlake.spark.stage import FILE_BYTES, NOTHING, Staged, Staging, stage
from singerlake.spark.views import read_current
from singerlake.spark.watch import watched
from singerlake.store import open_store

logger = logging.getLogger("singerlake.spark")

ADVICE = (
    "Mend the tap's schema, or publish null in their place with --max-misfits N (max_misfits), and "
    "their text beside it with --metadata _misfits; --numbers string keeps numbers without a "
    "declared precision as text"
)


@dataclass(frozen=True)
class Projection:
    """What a run did to one stream. `status` is published, unchanged, or planned (a dry run).

    `files`, `records` and `bytes` are what this run wrote, the totals what is published now;
    `removed` counts files of older versions and of died runs. `misfits` has, by column, how many
    values did not fit and are null.
    """

    tap_id: str
    stream: str
    status: str
    version: int
    since: int
    until: int
    raw_files: int
    raw_records: int | None
    files: int = 0
    records: int = 0
    bytes: int = 0
    total_files: int = 0
    total_records: int = 0
    removed: int = 0
    misfits: dict[str, int] = field(default_factory=dict)
    total_misfits: dict[str, int] = field(default_factory=dict)


def project(
    spark: SparkSession | None,
    root: str | Path,
    out: str | Path,
    tap: str,
    stream: str,
    settings: Settings,
    *,
    full: bool = False,
    dry_run: bool = False,
    max_misfits: int | None = 0,
    grace: timedelta = GRACE,
    file_bytes: int = FILE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
    out_options: Mapping[str, Any] | None = None,
    case_sensitive: bool = False,
    as_of: AsOf | None = None,
    replication_method: Method | None = None,
    run_outcomes: Sequence[str] = COMPLETE,
    progress: Progress = no_progress,
) -> Projection:
    """Publish what was committed to a stream since the last run; with `full`, all of it anew.

    `as_of` publishes the stream as it was; `replication_method` and `run_outcomes` are for the
    modes `current` and `last_run` (docs/projections.md).

    A dry run needs no session: where that is None, `case_sensitive` stands for its setting
    `spark.sql.caseSensitive`, and nothing is published.

    Raises `ConfigError` where the settings are not those of what is published or do not go with
    the columns, `StaleBookmark` where the raw log was renumbered, and `CommitConflict` where
    another run was quicker. A dry run raises the first two as a run does. Raises `TooManyMisfits`,
    and publishes nothing, where more than `max_misfits` values of this run do not fit their
    columns; None allows any number.
    """
    lake = open_on(open_store(root, storage_options or {}))
    store, keys = open_store(out, out_options), PublishedKeys(tap, stream)
    source = lake.stream(tap, stream)
    settings = checked(settings)
    head = read_published_head(store, keys)
    if spark is not None:
        case_sensitive = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    plan = planned(
        source.snapshot(),
        head,
        settings,
        full=full,
        case_sensitive=case_sensitive,
        extent=Extent(as_of=as_of, outcomes=tuple(run_outcomes)),
        method=replication_method,
    )
    if spark is None or dry_run or not plan.is_needed:
        removed = 0 if spark is None or dry_run else clean(store, keys, grace)
        return _report(
            plan, head.published, NOTHING, "planned" if plan.is_needed else "unchanged", removed
        )
    run_id = documents.new_run_id(clock.now())
    store.promise()  # Asked once here, and carried along: not by every task again.
    share(spark)
    with (
        explained(f"stream {stream!r}"),
        watched(spark, f"singerlake project {stream}", progress),
    ):
        frame = rows(spark, root, plan, storage_options=storage_options)
        shown = frame if MISFITS in settings.metadata else frame.drop(MISFITS)
        parts = layout.partition_parts(settings.partition_by, shown.columns)
        labels = tuple(part.label for part in parts)
        columns = tuple(shown.columns)
        staging = Staging(
            store, keys, run_id, settings.format, labels, columns, plan.columns, file_bytes
        )
        arranged = layout.arranged(frame, settings.partition_by, settings.sort_by)
        staged = stage(arranged, staging, plan.since, plan.until)
    _require_all(plan, staged.files)
    _require_fit(plan, staged.misfits, max_misfits)
    require_staged(store, keys, staged.files)
    position.require(source.snapshot(), plan.end)
    new = documents.successor(
        head.published,
        _published(plan, run_id, plan.marked(shown.schema), staged),
        appends=plan.appends,
        grace=grace,
    )
    put(store, keys, head, new)
    return _report(plan, new, staged, "published", clean(store, keys, grace))


def rows(
    spark: SparkSession,
    root: str | Path,
    plan: ProjectionPlan,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """What is to be published, as a DataFrame; its misfits are in a column of their own."""
    keys, settings = plan.snapshot.keys, plan.settings
    options: dict[str, Any] = {
        "metadata": list(dict.fromkeys([*settings.metadata, MISFITS])),
        "until": plan.until,
        "numbers": settings.numbers,
        "storage_options": storage_options,
        "minPartitions": min(plan.tasks, spark.sparkContext.defaultParallelism),
    }
    if settings.mode == "current":
        options |= {"keys": plan.keys, "decided": plan.decided, "state": plan.state}
        return read_current(spark, root, keys.tap_id, keys.stream, **options)
    options |= {"tap": keys.tap_id, "stream": keys.stream}
    options |= {"since": plan.since, "sequences": plan.selection.numbers}
    return load(spark, root, options_of(spark, **options), plan.state)


def _require_all(plan: ProjectionPlan, files: tuple[PublishedFile, ...]) -> None:
    """The log knows how many records there are: no more and no fewer may come out."""
    written = sum(file.records for file in files)
    if plan.settings.mode != "current" and plan.records not in (None, written):
        raise DamageError(
            f"stream {plan.snapshot.keys.stream!r}: {len(plan.files)} raw files hold "
            f"{plan.records} records by the manifest, and {written} were written; nothing was "
            "published. Run `singerlake check`"
        )


def _require_fit(plan: ProjectionPlan, misfits: Tally, limit: int | None) -> None:
    """Raises `TooManyMisfits`; those that are allowed are reported in the log."""
    if not misfits.total:
        return
    stream, columns = plan.snapshot.keys.stream, plan.columns
    misfits.require(limit, columns, advice=f"Nothing of stream {stream!r} was published. {ADVICE}")
    logger.warning(
        "stream %r: %s, published as null: %s",
        stream,
        misfits,
        described(misfits.found, columns),
    )


def _published(plan: ProjectionPlan, run_id: str, schema: StructType, staged: Staged) -> Published:
    keys, end = plan.snapshot.keys, plan.end
    return Published(
        tap_id=keys.tap_id,
        stream=keys.stream,
        version=1,
        run_id=run_id,
        published=clock.now(),
        settings=plan.settings,
        log_id=end.log_id,
        sequence=end.sequence,
        check=end.check,
        schema=plan.grown(schema).jsonValue(),
        schemas=(schema.jsonValue(),),
        run=plan.run,
        files=staged.files,
        misfits={run_id: staged.misfits.counts} if staged.misfits.total else {},
        untyped=staged.untyped,
    )


def _report(
    plan: ProjectionPlan,
    published: Published | None,
    staged: Staged,
    status: str,
    removed: int,
) -> Projection:
    return Projection(
        tap_id=plan.snapshot.keys.tap_id,
        stream=plan.snapshot.keys.stream,
        status=status,
        version=published.version if published else 0,
        since=plan.since,
        until=plan.until,
        raw_files=len(plan.files) if plan.is_needed else 0,
        raw_records=plan.records if plan.is_needed else 0,
        files=len(staged.files),
        records=sum(file.records for file in staged.files),
        bytes=sum(file.bytes for file in staged.files),
        total_files=len(published.files) if published else 0,
        total_records=published.records if published else 0,
        removed=removed,
        misfits=staged.misfits.counts,
        total_misfits=published.misfit_counts if published else {},
    )
