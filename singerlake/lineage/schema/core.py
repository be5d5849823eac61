"""The core of the OpenLineage spec, 2-0-2: events, runs, jobs, datasets, and what every facet has.

The spec has the three events in a `oneOf`. The validator chooses by keys instead, which costs half
as much and gives errors that name what is wrong.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

ADDRESS = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

_STRING = {"type": "string"}
_URI = {"type": "string", "format": "uri"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _object(required: tuple[str, ...], **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _facets(kind: str) -> Schema:
    return {"type": "object", "additionalProperties": _ref(kind)}


def _list(kind: str) -> Schema:
    return {"type": "array", "items": _ref(kind)}


def _also(kind: str, schema: Schema) -> Schema:
    return {"allOf": [_ref(kind), schema]}


_BASE_FACET = _object(("_producer", "_schemaURL"), _producer=_URI, _schemaURL=_URI)
_DELETABLE = _also("BaseFacet", {"properties": {"_deleted": {"type": "boolean"}}})
_DATASET = _object(
    ("namespace", "name"), namespace=_STRING, name=_STRING, facets=_facets("DatasetFacet")
)
_DATASETS = {"inputs": _list("InputDataset"), "outputs": _list("OutputDataset")}
_TRANSITIONS = ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]

DEFINITIONS: dict[str, Schema] = {
    "BaseEvent": _object(
        ("eventTime", "producer", "schemaURL"),
        eventTime={"type": "string", "format": "date-time"},
        producer=_URI,
        schemaURL=_URI,
    ),
    "RunEvent": _also(
        "BaseEvent",
        _object(
            ("run", "job"),
            eventType={"type": "string", "enum": _TRANSITIONS},
            run=_ref("Run"),
            job=_ref("Job"),
            **_DATASETS,
        ),
    ),
    "DatasetEvent": _also(
        "BaseEvent",
        _object(("dataset",), dataset=_ref("StaticDataset"))
        | {"not": {"required": ["job", "run"]}},
    ),
    "JobEvent": _also(
        "BaseEvent",
        _object(("job",), job=_ref("Job"), **_DATASETS) | {"not": {"required": ["run"]}},
    ),
    "Run": _object(
        ("runId",), runId={"type": "string", "format": "uuid"}, facets=_facets("RunFacet")
    ),
    "Job": _object(
        ("namespace", "name"), namespace=_STRING, name=_STRING, facets=_facets("JobFacet")
    ),
    "Dataset": _DATASET,
    "StaticDataset": _ref("Dataset"),
    "InputDataset": _also("Dataset", {"properties": {"inputFacets": _facets("InputDatasetFacet")}}),
    "OutputDataset": _also(
        "Dataset", {"properties": {"outputFacets": _facets("OutputDatasetFacet")}}
    ),
    "BaseFacet": _BASE_FACET,
    "RunFacet": _ref("BaseFacet"),
    "JobFacet": _DELETABLE,
    "DatasetFacet": _DELETABLE,
    "InputDatasetFacet": _ref("BaseFacet"),
    "OutputDatasetFacet": _ref("BaseFacet"),
}

EVENTS = ("RunEvent", "DatasetEvent", "JobEvent")

DOCUMENT: Schema = {
    "$schema": DRAFT,
    "$id": ADDRESS,
    "$defs": DEFINITIONS,
    "oneOf": [_ref(event) for event in EVENTS],
}
