"""The verdict on an event. It never touches the network."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from singerlake.lineage.schema import core, nesting
from singerlake.lineage.schema.facet import (
    DELETABLE,
    GROUPS,
    Facets,
    Group,
    Schema,
    Version,
    version_of,
)
from singerlake.lineage.schema.problem import MASK, MOST, Problem, problem_of

Path = tuple[str | int, ...]
Place = tuple[Group, Path, Any]
"""A group of facets, where it stands in the event, and the facets."""

LARGE = 5_000
"""Values of an event; one of three hundred columns has about a thousand."""

_decode = msgspec.json.Decoder().decode


class Validator:
    """For one thread, whose stack is a main thread's. `fallbacks` counts facets of a version that
    is not at hand, which were held against the newest."""

    def __init__(self, facets: Facets, groups: Collection[Group] = GROUPS) -> None:
        self._facets, self._groups = facets, frozenset(groups)
        documents = {core.ADDRESS: core.DOCUMENT} | facets.documents
        self._registry = jsonschema_rs.Registry(list(documents.items()), retriever=_refuse)
        self._events = {name: self._compiled(_event(name)) for name in core.EVENTS}
        self._compiled_facets: dict[tuple[Group, str, Version], Any] = {}
        self.fallbacks = 0

    def _compiled(self, schema: Schema) -> Any:
        return jsonschema_rs.Draft202012Validator(
            schema, validate_formats=True, registry=self._registry, retriever=_refuse, mask=MASK
        )

    def parse(self, text: bytes) -> tuple[Any, list[Problem]]:
        """The event in a JSON text, and what is wrong with it: of a large one only the first
        problem, as its errors may take more time and memory than anybody should get."""
        values = nesting.values_at_most(text)
        if values > nesting.MOST_VALUES:
            return None, [
                Problem("", f"expected at most {nesting.MOST_VALUES:,} values, found more")
            ]
        deep = nesting.is_too_deep(text)
        try:
            event = _decode(text)
        except RecursionError:
            return None, [_too_deep()]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return None, [Problem("", f"expected JSON in UTF-8, found other bytes: {error}")]
        return event, self.problems(event, deep, MOST if values <= LARGE else 1)

    def problems(self, event: Any, deep: bool | None = None, most: int = MOST) -> list[Problem]:
        """Nothing for a valid event."""
        if not isinstance(event, dict):
            return [Problem("", "expected an object, found something else")]
        if deep is None and nesting.is_value_too_deep(event):
            return [_too_deep()]
        kind, found = self._core_verdict(event, most)
        if found:
            return found
        for group, path, facets in _places(event, kind):
            if group in self._groups and len(found) < most:
                found += self._facet_problems(group, path, facets, most)
        return found[:most]

    def _core_verdict(self, event: dict[str, Any], most: int) -> tuple[str, list[Problem]]:
        """By the kind of event that the keys say; the spec's own rule is exactly one of three."""
        kinds = kinds_of(event)
        fits = [kind for kind in kinds if self._events[kind].is_valid(event)]
        if len(fits) == 1:
            return fits[0], []
        if fits:
            both = "expected a dataset event or a job event, found both in one"
            return "", [Problem("", both)]
        return "", _listed(self._events[kinds[0]], event, (), most)

    def _facet_problems(
        self, group: Group, path: Path, facets: dict[str, Any], most: int
    ) -> list[Problem]:
        found: list[Problem] = []
        for key, facet in facets.items():
            if facet.get("_deleted") is True and group in DELETABLE:
                continue
            validator = self._chosen(group, key, facet["_schemaURL"])
            if validator is not None and not validator.is_valid(facet):
                found += _listed(validator, facet, (*path, key), most)
                if len(found) >= most:
                    break
        return found

    def _chosen(self, group: Group, key: str, address: str) -> Any:
        """By the version in the facet's own address; None for a facet that nobody knows."""
        versions = self._facets.by_place.get((group, key))
        if versions is None:
            return None
        version = version_of(address)
        if version is None or version not in versions:
            self.fallbacks += 1
            version = self._facets.newest(group, key)
        place = group, key, version
        if place not in self._compiled_facets:
            self._compiled_facets[place] = self._compiled(versions[version])
        return self._compiled_facets[place]


def kinds_of(event: dict[str, Any]) -> tuple[str, ...]:
    """The kinds that an event with these keys can be: one, but for a dataset and a job together."""
    if "run" in event and "job" in event:
        return ("RunEvent",)
    if "dataset" in event:
        return ("DatasetEvent", "JobEvent") if "job" in event else ("DatasetEvent",)
    return ("JobEvent",) if "job" in event and "run" not in event else ("RunEvent",)


def _places(event: dict[str, Any], kind: str) -> Iterator[Place]:
    """All groups of facets in an event whose core is valid."""
    if kind == "DatasetEvent":
        yield from _of(event["dataset"], ("dataset",), "dataset", "facets")
        return
    if kind == "RunEvent":
        yield from _of(event["run"], ("run",), "run", "facets")
    yield from _of(event["job"], ("job",), "job", "facets")
    for number, dataset in enumerate(event.get("inputs", ())):
        yield from _of(dataset, ("inputs", number), "dataset", "facets")
        yield from _of(dataset, ("inputs", number), "input", "inputFacets")
    for number, dataset in enumerate(event.get("outputs", ())):
        yield from _of(dataset, ("outputs", number), "dataset", "facets")
        yield from _of(dataset, ("outputs", number), "output", "outputFacets")


def _of(holder: dict[str, Any], path: Path, group: Group, name: str) -> Iterator[Place]:
    if name in holder:
        yield group, (*path, name), holder[name]


def _event(name: str) -> Schema:
    return {"$schema": core.DRAFT, "$ref": f"{core.ADDRESS}#/$defs/{name}"}


def _listed(validator: Any, value: Any, above: Path, most: int) -> list[Problem]:
    if most > 1:  # makes all errors before it gives the first
        return [problem_of(error, above) for error in islice(validator.iter_errors(value), most)]
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [problem_of(error, above)]
    return []


def _too_deep() -> Problem:
    return Problem("", f"expected at most {nesting.MOST} levels of nesting, found more")


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"no schema is fetched from the network: {address}")
