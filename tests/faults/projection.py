"""Projecting without Spark: the product's own steps on the store, and a stand-in for the rows.

What the executors write is a list of numbers here. Everything that decides what is published, and
when, is `singerlake.spark`'s: its plan, its check of what was staged, its put, its clean-up.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from singerlake.lake import Lake, Selection, Snapshot, clock
from singerlake.lake.feed import position
from singerlake.projection import document as documents
from singerlake.projection.cleanup import clean
from singerlake.projection.document import Published, PublishedFile, PublishedKeys, Settings
from singerlake.projection.publication import put, read_published_head, require_staged
from singerlake.spark.projection_plan import planned
from singerlake.store import Store
from tests.faults.process import Body, Process
from tests.faults.truth import Shelf, Truth, Violation
from tests.faults.work import Work
from tests.lake.landing import KEYS, STREAM, TAP

OUT = PublishedKeys(TAP, STREAM)
SETTINGS = Settings(format="parquet", mode="append")
GRACE = timedelta(days=1)
NO_COLUMNS = {"type": "struct", "fields": []}
SPARK = {
    "waiting": ["singerlake.projection.publication"],
    "naming": ["singerlake.projection.document"],
}
"""For `deterministic`."""


def project(store: Store, full: bool = False) -> int:
    """As `singerlake.spark.project.project`, with one staged file for each raw file.

    Returns the sequence up to which the stream is published.
    """
    source = Lake(store).stream(TAP, STREAM)
    head = read_published_head(store, OUT)
    plan = planned(source.snapshot(), head, SETTINGS, full=full)
    if plan.is_needed:
        run_id = documents.new_run_id(clock.now())
        files = []
        for at, file in enumerate(plan.files):
            wanted = Selection(since=max(plan.since, file.lowest_sequence - 1), until=file.sequence)
            rows = [record["id"] for record in plan.snapshot.records(wanted)]
            data, path = json.dumps(rows).encode(), f"data/{run_id}/{at:05}.parquet"
            store.create(OUT.under(path), data)
            files.append(
                PublishedFile(
                    path=path,
                    records=len(rows),
                    bytes=len(data),
                    checksum=hashlib.sha256(data).hexdigest(),
                    since=plan.since,
                    until=plan.until,
                )
            )
        require_staged(store, OUT, files)
        position.require(source.snapshot(), plan.end)
        made = Published(
            tap_id=TAP,
            stream=STREAM,
            version=1,
            run_id=run_id,
            published=clock.now(),
            settings=SETTINGS,
            log_id=plan.end.log_id,
            sequence=plan.end.sequence,
            check=plan.end.check,
            schema=NO_COLUMNS,
            schemas=(NO_COLUMNS,),
            files=tuple(files),
        )
        new = documents.successor(head.published, made, appends=plan.appends, grace=GRACE)
        put(store, OUT, head, new)
    clean(store, OUT, GRACE)
    return plan.until


def projecting() -> Work:
    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            until = project(process.store)

            def tell() -> None:
                truth.published = max(truth.published, until)

            process.acknowledge(tell)

        return body

    return of


def require_once(store: Shelf, truth: Truth) -> None:
    """What is published is what the log has up to its place: all of it, whole, and once."""
    published = read_published_head(store, OUT).published
    if (published.sequence if published else 0) < truth.published:
        raise Violation(f"LOST: it was published up to {truth.published}")
    if published is None:
        return
    versions = store.versions()
    there: list[int] = []
    for file in published.files:
        if versions.get(OUT.under(file.path)) != file.checksum:
            raise Violation(f"TORN {file.path}: published, and not there as it was")
        there += json.loads(store.read(OUT.under(file.path)).data)
    raw = Snapshot(store, KEYS, Lake(store).stream(TAP, STREAM).snapshot().manifest)
    expected = [record["id"] for record in raw.records(Selection(until=published.sequence))]
    if len(there) > len(expected):
        raise Violation(f"TWICE {there}: the log has {expected}")
    if sorted(there) != sorted(expected):
        raise Violation(f"LOST {expected}: published is {there}")


def require_all(store: Shelf, truth: Truth) -> None:
    """The next run publishes all the rest."""
    truth.published = project(store)
    require_once(store, truth)
    published = read_published_head(store, OUT).published
    last = Lake(store).stream(TAP, STREAM).snapshot().manifest.last_sequence
    if published is None or published.sequence != last:
        raise Violation("LOST: the next run did not publish the rest")
