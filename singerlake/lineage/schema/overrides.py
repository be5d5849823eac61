"""Where the classes of openlineage-python say less than the spec, or a version is not in them.

The package has the newest version of each facet. Older versions are written here only where what
was right then is wrong by the newest.
"""

from __future__ import annotations

from typing import Any

from singerlake.lineage.schema.facet import Facet

_TEXT = {"type": "string"}


def amended(facet: Facet) -> Facet:
    """The facet with what its class does not say."""
    definitions = facet.schema.get("$defs", {})
    if facet.key == "jobType" and "EmissionPattern" in definitions:
        definitions["EmissionPattern"]["properties"]["windowDuration"]["minimum"] = 1
    if facet.key == "executionParameters" and "ExecutionParameter" in definitions:
        definitions["ExecutionParameter"]["additionalProperties"] = False
    if facet.key == "lineage":
        for name in ("LineageJobEntry", "LineageJobInput"):
            if name in definitions:
                definitions[name]["dependentRequired"] = {
                    "namespace": ["name"],
                    "name": ["namespace"],
                }
    return facet


def _processing_engine() -> dict[str, Any]:
    """1-0-0 asked for `engine_version`, but described `version`: producers sent either."""
    return {
        "type": "object",
        "properties": {"version": _TEXT, "name": _TEXT, "openlineageAdapterVersion": _TEXT},
        "anyOf": [{"required": ["engine_version"]}, {"required": ["version"]}],
    }


def _extraction_error() -> dict[str, Any]:
    """1-0-0 asked for `totalElements` and `failedElements`, but described `…Tasks`."""
    error = {
        "type": "object",
        "properties": {
            "errorMessage": _TEXT,
            "stackTrace": _TEXT,
            "task": _TEXT,
            "taskNumber": {"type": "integer"},
        },
        "required": ["errorMessage"],
    }
    number = {"type": "integer"}
    return {
        "type": "object",
        "properties": {
            "totalTasks": number,
            "failedTasks": number,
            "errors": {"type": "array", "items": error},
        },
        "required": ["errors"],
        "anyOf": [
            {"required": ["totalElements", "failedElements"]},
            {"required": ["totalTasks", "failedTasks"]},
        ],
    }


OLDER = (
    Facet("run", "processing_engine", (1, 0, 0), _processing_engine()),
    Facet("run", "extractionError", (1, 0, 0), _extraction_error()),
)
