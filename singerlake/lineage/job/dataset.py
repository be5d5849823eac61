"""Datasets with their facets: streams of a lake, messages, published tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from singerlake.lineage.event import facet
from singerlake.lineage.event.name import DatasetName
from singerlake.lineage.event.value import Facets

LAYER = "singerlake"


def source_of(named: DatasetName) -> facet.DataSource:
    return facet.DataSource(name=named.namespace, uri=named.uri)


def of_messages(named: DatasetName, declared: facet.Schema | None = None) -> Facets:
    facets: dict[str, facet.Facet] = {"dataSource": source_of(named)}
    if declared is not None:
        facets["schema"] = declared
    return facets


def of_stream(
    named: DatasetName, sequence: int | None = None, declared: facet.Schema | None = None
) -> dict[str, facet.Facet]:
    """A stream of a lake up to a sequence number, which is its version."""
    facets: dict[str, facet.Facet] = {
        "dataSource": source_of(named),
        "storage": facet.Storage(storage_layer=LAYER, file_format="json"),
    }
    if sequence:
        facets["version"] = facet.Version(dataset_version=str(sequence))
    if declared is not None:
        facets["schema"] = declared
    return facets


def written(records: int | None, size: int | None, files: int | None) -> Facets:
    rows, size_known, file_count = map(known, (records, size, files))
    return {
        "outputStatistics": facet.OutputStatistics(
            row_count=rows, size=size_known, file_count=file_count
        )
    }


def read(records: int | None, size: int | None = None, files: int | None = None) -> Facets:
    rows, size_known, file_count = map(known, (records, size, files))
    return {
        "inputStatistics": facet.InputStatistics(
            row_count=rows, size=size_known, file_count=file_count
        )
    }


def known(count: int | None) -> int | UnsetType:
    """A count, where it is one: below 0 it is unknown."""
    return UNSET if count is None or count < 0 else count


def reference(named: DatasetName) -> facet.LineageInput:
    return facet.LineageInput(namespace=named.namespace, name=named.name)


def made_of(*sources: DatasetName) -> facet.DatasetLineage:
    return facet.DatasetLineage(inputs=tuple(map(reference, sources)))


def edges(pairs: Iterable[tuple[DatasetName, DatasetName]]) -> facet.JobLineage:
    """Each pair is a source and what was made of it."""
    entries = (
        facet.LineageEntry(
            namespace=target.namespace, name=target.name, inputs=(reference(source),)
        )
        for source, target in pairs
    )
    return facet.JobLineage(entries=tuple(entries))


def notes(annotations: Mapping[str, Any]) -> dict[str, facet.Facet]:
    """What people wrote about a tap: who owns it, what it is, where more is written, and tags."""
    facets: dict[str, facet.Facet] = {}
    owner, about = annotations.get("owner"), annotations.get("description")
    more, tags = annotations.get("documentation"), annotations.get("tags")
    if isinstance(owner, str) and owner:
        facets["ownership"] = facet.Ownership(owners=(facet.Owner(name=owner),))
    texts = [text for text in (about, more) if isinstance(text, str) and text]
    if texts:
        facets["documentation"] = facet.Documentation(description="\n\n".join(texts))
    if isinstance(tags, Mapping) and tags:
        pairs = sorted((str(key), str(value)) for key, value in tags.items())
        made = tuple(facet.Tag(key=key, value=value, source="USER") for key, value in pairs)
        facets["tags"] = facet.DatasetTags(tags=made)
    return facets
