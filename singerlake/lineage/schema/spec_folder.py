"""The official schema files of OpenLineage, in a folder that the user gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from singerlake.errors import ConfigError
from singerlake.lineage.schema import core
from singerlake.lineage.schema.facet import Facet, Facets, Group, Schema, collected, version_of

_PARENTS: dict[str, Group] = {
    "RunFacet": "run",
    "JobFacet": "job",
    "DatasetFacet": "dataset",
    "InputDatasetFacet": "input",
    "OutputDatasetFacet": "output",
}
"""A facet says where it may stand by what it extends."""


def facets(folder: Path) -> Facets:
    """All files below the folder that have an address. Raises `ConfigError`."""
    documents = dict(_documents(folder))
    found = [one for address, each in documents.items() for one in _facets(address, each)]
    if not found:
        raise ConfigError(
            f"{folder}: expected OpenLineage's schema files, such as facets/SchemaDatasetFacet.json"
            ", found none that describes a facet"
        )
    for address in list(_core_addresses(documents)):
        documents.setdefault(address, core.DOCUMENT | {"$id": address})
    documents.setdefault(core.ADDRESS, core.DOCUMENT)
    return collected(found, documents)


def _documents(folder: Path) -> Iterator[tuple[str, Schema]]:
    if not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder of schema files, found none")
    for path in sorted(folder.rglob("*.json")):
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: expected a JSON schema, cannot read it: {error}") from None
        if isinstance(document, dict) and "$id" in document and "$defs" in document:
            yield str(document["$id"]), document


def _facets(address: str, document: Schema) -> Iterator[Facet]:
    version = version_of(address)
    for key, place in document.get("properties", {}).items():
        for name in _names(place, document["$defs"]):
            group = _group(document["$defs"].get(name, {}))
            if group is not None and version is not None:
                yield Facet(group, key, version, {"$ref": f"{address}#/$defs/{name}"})


def _names(schema: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    """The definitions that a place of a facet may hold."""
    for one in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        reference = str(one.get("$ref", ""))
        name = reference.removeprefix("#/$defs/")
        if reference.startswith("#/$defs/") and name in definitions:
            yield name
            yield from _names({**definitions[name], "$ref": ""}, definitions)


def _group(definition: Schema) -> Group | None:
    for above in definition.get("allOf", ()):
        name = str(above.get("$ref", "")).rpartition("/")[2]
        if name in _PARENTS:
            return _PARENTS[name]
    return None


def _core_addresses(value: Any) -> Iterator[str]:
    """Versions of the core that a file refers to: of them, facets need only what all have."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and "/OpenLineage.json" in reference:
            yield reference.partition("#")[0]
        for one in value.values():
            yield from _core_addresses(one)
    elif isinstance(value, list):
        for one in value:
            yield from _core_addresses(one)
