"""The standard facets that our events have. A field that is UNSET is left out of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

_FACETS = "https://openlineage.io/spec/facets"


def _version() -> str:
    try:
        return metadata.version("singerlake")
    except metadata.PackageNotFoundError:  # run from a checkout
        return "0"


VERSION = _version()
PRODUCER = f"urn:singerlake:{VERSION}"


class _Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a facet."""


class Facet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    producer: str = msgspec.field(default=PRODUCER, name="_producer")


def _url(version: str, file: str, name: str = "") -> str:
    default: str = msgspec.field(
        default=f"{_FACETS}/{version}/{file}.json#/$defs/{name or file}", name="_schemaURL"
    )
    return default


# Runs


class RunReference(_Value, frozen=True, kw_only=True):
    run_id: str


class JobReference(_Value, frozen=True, kw_only=True):
    namespace: str
    name: str


class Root(_Value, frozen=True, kw_only=True):
    run: RunReference
    job: JobReference


class Parent(Facet, frozen=True, kw_only=True):
    run: RunReference
    job: JobReference
    root: Root
    schema_url: str = _url("1-2-0", "ParentRunFacet")


class ProcessingEngine(Facet, frozen=True, kw_only=True):
    version: str
    name: str
    schema_url: str = _url("1-1-1", "ProcessingEngineRunFacet")


class ErrorMessage(Facet, frozen=True, kw_only=True):
    message: str
    programming_language: str = "python"
    schema_url: str = _url("1-0-1", "ErrorMessageRunFacet")


class Tag(_Value, frozen=True, kw_only=True):
    key: str
    value: str
    source: str = "SINGERLAKE"


class RunTags(Facet, frozen=True, kw_only=True):
    tags: tuple[Tag, ...]
    schema_url: str = _url("1-0-0", "TagsRunFacet")


# Jobs


class JobType(Facet, frozen=True, kw_only=True):
    processing_type: str = "BATCH"
    integration: str = "SINGERLAKE"
    job_type: str
    schema_url: str = _url("2-0-4", "JobTypeJobFacet")


# Datasets


class Field(_Value, frozen=True, kw_only=True):
    name: str
    type: str
    description: str | UnsetType = UNSET
    fields: tuple[Field, ...] | UnsetType = UNSET


class Schema(Facet, frozen=True, kw_only=True):
    fields: tuple[Field, ...]
    schema_url: str = _url("1-2-0", "SchemaDatasetFacet")


class DataSource(Facet, frozen=True, kw_only=True):
    name: str
    uri: str
    schema_url: str = _url("1-0-1", "DatasourceDatasetFacet")


class Version(Facet, frozen=True, kw_only=True):
    dataset_version: str
    schema_url: str = _url("1-0-1", "DatasetVersionDatasetFacet")


class Storage(Facet, frozen=True, kw_only=True):
    storage_layer: str
    file_format: str
    schema_url: str = _url("1-0-1", "StorageDatasetFacet")


class Owner(_Value, frozen=True, kw_only=True):
    name: str


class Ownership(Facet, frozen=True, kw_only=True):
    owners: tuple[Owner, ...]
    schema_url: str = _url("1-0-1", "OwnershipDatasetFacet")


class Documentation(Facet, frozen=True, kw_only=True):
    description: str
    content_type: str | UnsetType = UNSET
    schema_url: str = _url("1-1-0", "DocumentationDatasetFacet")


class DatasetTags(Facet, frozen=True, kw_only=True):
    tags: tuple[Tag, ...]
    schema_url: str = _url("1-0-0", "TagsDatasetFacet")


class OutputStatistics(Facet, frozen=True, kw_only=True):
    row_count: int | UnsetType = UNSET
    size: int | UnsetType = UNSET
    file_count: int | UnsetType = UNSET
    schema_url: str = _url("1-0-2", "OutputStatisticsOutputDatasetFacet")


class InputStatistics(Facet, frozen=True, kw_only=True):
    row_count: int | UnsetType = UNSET
    size: int | UnsetType = UNSET
    file_count: int | UnsetType = UNSET
    schema_url: str = _url("1-0-0", "InputStatisticsInputDatasetFacet")


class Assertion(_Value, frozen=True, kw_only=True):
    assertion: str
    success: bool
    column: str | UnsetType = UNSET
    severity: Literal["error", "warn"] | UnsetType = UNSET
    description: str | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    actual: str | UnsetType = UNSET


class Assertions(Facet, frozen=True, kw_only=True):
    """Of what was read: it stands among the input facets."""

    assertions: tuple[Assertion, ...]
    schema_url: str = _url("1-1-0", "DataQualityAssertionsDatasetFacet")


# What was made of what


class Transformation(_Value, frozen=True, kw_only=True):
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str
    description: str | UnsetType = UNSET
    masking: bool | UnsetType = UNSET


class InputField(_Value, frozen=True, kw_only=True):
    namespace: str
    name: str
    field: str
    transformations: tuple[Transformation, ...]


class ColumnInputs(_Value, frozen=True, kw_only=True):
    input_fields: tuple[InputField, ...]


class ColumnLineage(Facet, frozen=True, kw_only=True):
    fields: Mapping[str, ColumnInputs]
    dataset: tuple[InputField, ...] = ()
    schema_url: str = _url("1-2-0", "ColumnLineageDatasetFacet")


class LineageInput(_Value, frozen=True, kw_only=True):
    namespace: str
    name: str
    type: Literal["DATASET"] = "DATASET"


class LineageEntry(_Value, frozen=True, kw_only=True):
    namespace: str
    name: str
    type: Literal["DATASET"] = "DATASET"
    inputs: tuple[LineageInput, ...]


class DatasetLineage(Facet, frozen=True, kw_only=True):
    """Which datasets feed the one that has this facet."""

    inputs: tuple[LineageInput, ...]
    schema_url: str = _url("1-0-0", "LineageFacet", "LineageDatasetFacet")


class JobLineage(Facet, frozen=True, kw_only=True):
    """Which inputs feed which outputs: else a run of n streams reads as n times n edges."""

    entries: tuple[LineageEntry, ...]
    schema_url: str = _url("1-0-0", "LineageFacet", "LineageJobFacet")
