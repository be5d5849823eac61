"""Where a stream came from and what was made of it, as far as the lake itself knows.

From run documents, from the notes of jobs in the lake document, and from published tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache

from singerlake.errors import DamageError, NotFound, StoreError, UnknownTap, UnsupportedFormat
from singerlake.format import consumer
from singerlake.format.run import RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.lake import Lake, Run, registry
from singerlake.lake.runs import documents
from singerlake.lake.runs.history import of_stream
from singerlake.lineage.event import name
from singerlake.projection.document import PublishedKeys
from singerlake.projection.publication import read_published_head
from singerlake.store import Store

RUNS = 50
"""The newest runs of a tap that are looked at."""

_ORCHESTRATORS = (
    ("airflow", ("AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_TASK_ID")),
    ("dagster", ("DAGSTER_RUN_JOB_NAME",)),
    ("github", ("GITHUB_WORKFLOW",)),
    ("argo", ("ARGO_WORKFLOW_NAME",)),
    ("meltano", ("MELTANO_SCHEDULE_NAME",)),
    ("meltano", ("MELTANO_JOB_ID",)),
    ("meltano", ("MELTANO_EXTRACTOR_NAME",)),
)


@dataclass(frozen=True)
class Node:
    """`kind` is tap or job above the stream, and replay or projection below it.

    `sequence` is the commit up to which a consumer goes, `seen` when it was at work last.
    """

    kind: str
    name: str
    detail: str = ""
    sequence: int = 0
    seen: datetime | None = None


@dataclass(frozen=True)
class Graph:
    """One stream, what it came from, and what was made of it, the newest first."""

    tap_id: str
    stream: str
    last_sequence: int
    sources: tuple[Node, ...]
    consumers: tuple[Node, ...]


class Graphs:
    """The graphs of a lake's streams. What many streams share is read once."""

    def __init__(self, lake: Lake, outputs: Sequence[Store] = ()) -> None:
        self._lake, self._outputs = lake, outputs
        self._tap = lru_cache(64)(self._read_tap)

    def of(self, tap: str, stream: str) -> Graph:
        """Raises `UnknownStream`."""
        last = self._lake.stream(tap, stream).snapshot().last_sequence
        return Graph(tap, stream, last, self.sources(tap, stream), self.consumers(tap, stream))

    def sources(self, tap: str, stream: str) -> tuple[Node, ...]:
        runs, newest = self._tap(tap)
        return tuple(_sources(tap, of_stream(runs, stream), newest))

    def _read_tap(self, tap: str) -> tuple[list[Run], RunDocument | None]:
        """The newest runs, and the document of the last."""
        try:
            runs = self._lake.tap(tap).runs(limit=RUNS)
        except (UnknownTap, DamageError):
            return [], None
        written = [run.document for run in runs if run.document]
        try:
            keys = RunKeys(tap)
            return runs, documents.read(self._lake.store, keys, written[-1])[0] if written else None
        except (NotFound, DamageError):
            return runs, None

    @cached_property
    def _document(self) -> dict[str, object]:
        return registry.read_lake_document(self._lake.store) or {}

    def consumers(self, tap: str, stream: str) -> tuple[Node, ...]:
        """The newest first."""
        noted = [
            Node(one.kind, one.name, one.detail, one.sequence, one.seen)
            for one in consumer.of_stream(self._document, tap, stream)
        ]
        found = [node for store in self._outputs if (node := _table(store, tap, stream))]
        names = {node.name for node in found}
        every = [*found, *(node for node in noted if node.name not in names)]
        return tuple(sorted(every, key=_last_seen, reverse=True))


def _last_seen(node: Node) -> str:
    return "" if node.seen is None else node.seen.isoformat()


def _sources(tap: str, runs: Sequence[Run], newest: RunDocument | None) -> list[Node]:
    complete = [run for run in runs if run.outcome == "complete"]
    last = complete[-1] if complete else runs[-1] if runs else None
    detail = ""
    if last is not None:
        detail = f"last {last.outcome} run {last.run_id}"
    seen = None if last is None else last.ended
    made = [Node("tap", tap, detail, 0, seen)]
    if newest is not None and (job := _orchestrator(newest)):
        made.append(Node("job", job, f"run {newest.run_id}", 0, newest.ended))
    return made


def _orchestrator(run: RunDocument) -> str:
    for program, variables in _ORCHESTRATORS:
        words = [run.environment[one] for one in variables if run.environment.get(one)]
        if words:
            return f"{program}/{'.'.join(words)}"
    return ""


def _table(store: Store, tap: str, stream: str) -> Node | None:
    keys = PublishedKeys(tap, stream)
    try:
        published = read_published_head(store, keys).published
    except (DamageError, StoreError, UnsupportedFormat):
        return None  # the page of the stream says what is wrong with the table
    if published is None:
        return None
    return Node(
        "projection",
        name.shown(name.in_store(store.url, keys.folder)),
        f"{published.settings.format}, {published.settings.mode}",
        published.sequence,
        published.published,
    )
