"""Projecting: a stream becomes a table. What is known of the table is in its published document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from singerlake.format.catalogue import Entry, schema_of
from singerlake.lineage.event import facet, name, schema
from singerlake.lineage.event.name import DatasetName
from singerlake.lineage.event.value import NO_FACETS, EventType, RunEvent
from singerlake.lineage.job import columns, dataset
from singerlake.lineage.job.context import Context
from singerlake.lineage.job.process import Edge, Side
from singerlake.lineage.job.upkeep import process
from singerlake.projection.document import Published, PublishedKeys, Settings
from singerlake.projection.schema import record_of

VERB = "project"


@dataclass(frozen=True)
class Projecting:
    """One run that publishes a stream of the lake at `url` to `out`."""

    context: Context
    url: str
    out: str
    tap: str
    stream: str
    settings: Settings
    begun: datetime
    unique: str

    @property
    def table(self) -> DatasetName:
        return name.in_store(self.out, PublishedKeys(self.tap, self.stream).folder)

    def started(self, entry: Entry | None) -> RunEvent:
        return self._event("START", self.begun, Edge(self._source(entry), self._target(entry)))

    def nothing(self, entry: Entry | None, time: datetime) -> RunEvent:
        """The end of a run that found no record to publish."""
        return self._event("COMPLETE", time, Edge(self._source(entry), self._target(entry)))

    def broken(self, kind: EventType, entry: Entry | None, time: datetime, error: str) -> RunEvent:
        """The end of a run that failed, or was stopped."""
        return self._event(kind, time, Edge(self._source(entry), self._target(entry)), error)

    def ended(
        self,
        entry: Entry | None,
        published: Published | None,
        time: datetime,
        read: tuple[int | None, int],
        written: tuple[int, int, int],
        misfits: Mapping[str, int],
    ) -> RunEvent:
        """`read` is records and files, `written` records, bytes and files of this run."""
        statistics = {**dataset.read(read[0], None, read[1]), **_fit(misfits)}
        source = self._source(entry, published.sequence if published else None, statistics)
        target = self._target(entry, published, dataset.written(*written))
        return self._event("COMPLETE", time, Edge(source, target))

    def _event(self, kind: EventType, time: datetime, edge: Edge, error: str = "") -> RunEvent:
        made = process(self.context, self.begun, self.unique, self.tap, VERB, self.stream)
        return made.event(kind, time, [edge], error)

    def _source(
        self,
        entry: Entry | None,
        sequence: int | None = None,
        statistics: Mapping[str, facet.Facet] = NO_FACETS,
    ) -> Side:
        named = name.of_stream(self.url, self.tap, self.stream)
        declared = None if entry is None else schema.of_stream(schema_of(entry))
        facets = dataset.of_stream(named, sequence, declared)
        return Side(named, facets, statistics)

    def _target(
        self,
        entry: Entry | None,
        published: Published | None = None,
        written: Mapping[str, facet.Facet] = NO_FACETS,
    ) -> Side:
        source = name.of_stream(self.url, self.tap, self.stream)
        facets: dict[str, facet.Facet] = {
            "dataSource": dataset.source_of(self.table),
            "storage": facet.Storage(storage_layer="singerlake", file_format=self.settings.format),
            "lineage": dataset.made_of(source),
        }
        if published is not None:
            record = record_of(published.schema)
            facets["schema"] = schema.of_columns(record.fields)
            facets["version"] = facet.Version(dataset_version=str(published.version))
            facets["columnLineage"] = self._columns(
                source, entry, [one for one, _ in record.fields]
            )
        return Side(self.table, facets, written)

    def _columns(
        self, source: DatasetName, entry: Entry | None, names: list[str]
    ) -> facet.ColumnLineage:
        """Columns have the names that they have in the stream; those about the record have no
        column there. Which row is the current one of a key, its key says."""
        settings = self.settings
        keys = (
            () if entry is None or settings.mode != "current" else schema_of(entry).key_properties
        )
        sorted_by = [one.partition(":")[0] for one in settings.sort_by]
        own = [one for one in names if one not in settings.metadata]
        return facet.ColumnLineage(
            fields=columns.same(source, own),
            dataset=(
                *columns.indirect(source, list(keys), "WINDOW"),
                *columns.indirect(source, [one for one in sorted_by if one in own], "SORT"),
            ),
        )


def _fit(misfits: Mapping[str, int]) -> dict[str, facet.Facet]:
    """Values that did not fit the type of their column, by column."""
    counted = [(column, count) for column, count in sorted(misfits.items()) if count]
    whole = facet.Assertion(
        assertion="singerlake_fits",
        success=not counted,
        description="every value fits the type of its column",
    )
    each = (
        facet.Assertion(
            assertion="singerlake_fits",
            success=False,
            column=column,
            severity="warn",
            expected="0",
            actual=str(count),
        )
        for column, count in counted
    )
    return {"dataQualityAssertions": facet.Assertions(assertions=(whole, *each))}
