"""What a valid event is, by the classes of openlineage-python: each facet by its own class."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

import attr
from openlineage.client import generated
from openlineage.client.generated import base

_PLACES: dict[str, tuple[str, type]] = {
    "run": ("facets", base.RunFacet),
    "job": ("facets", base.JobFacet),
    "dataset": ("facets", base.DatasetFacet),
    "inputFacets": ("inputFacets", base.InputDatasetFacet),
    "outputFacets": ("outputFacets", base.OutputDatasetFacet),
}


class Invalid(AssertionError):
    """Says where, and what is wrong there."""


def require_valid(event: Mapping[str, Any]) -> None:
    """Raises `Invalid`."""
    kind = base.RunEvent if "run" in event else base.DatasetEvent
    if event["schemaURL"] != kind._get_schema():
        raise Invalid(f"schemaURL: {event['schemaURL']}")
    time = event["eventTime"]
    if "T" not in time or datetime.fromisoformat(time.replace("Z", "+00:00")).tzinfo is None:
        raise Invalid(f"eventTime: {time}")
    if "run" in event:
        assert event["eventType"] in base.EventType.__members__
        if str(UUID(event["run"]["runId"])) != event["run"]["runId"]:
            raise Invalid(f"runId: {event['run']['runId']}")
        _facets("run", event["run"]["facets"], base.RunFacet)
        _facets("job", event["job"]["facets"], base.JobFacet)
        for side, own, parent in (
            ("inputs", "inputFacets", base.InputDatasetFacet),
            ("outputs", "outputFacets", base.OutputDatasetFacet),
        ):
            for dataset in event[side]:
                _names(side, dataset, {"namespace", "name", "facets", own})
                _facets(side, dataset["facets"], base.DatasetFacet)
                _facets(side, dataset[own], parent)
    else:
        _names("dataset", event["dataset"], {"namespace", "name", "facets"})
        _facets("dataset", event["dataset"]["facets"], base.DatasetFacet)


def _names(where: str, value: Mapping[str, Any], names: set[str]) -> None:
    if value.keys() != names or not value["namespace"] or not value["name"]:
        raise Invalid(f"{where}: {value}")


def _facets(where: str, facets: Mapping[str, Any], parent: type) -> None:
    for name, facet in facets.items():
        known = classes().get(facet["_schemaURL"])
        if known is None or not issubclass(known, parent):
            raise Invalid(f"{where}.{name}: {facet['_schemaURL']} does not stand here")
        body = {key: item for key, item in facet.items() if not key.startswith("_")}
        if "_producer" not in facet:
            raise Invalid(f"{where}.{name}: no _producer")
        _check(f"{where}.{name}", body, known)


@cache
def classes() -> dict[str, type]:
    """Every facet by the address of its schema."""
    found: dict[str, type] = {}
    for module in pkgutil.iter_modules(generated.__path__):
        content = importlib.import_module(f"{generated.__name__}.{module.name}")
        for each in vars(content).values():
            if isinstance(each, type) and issubclass(each, base.BaseFacet):
                found[each._get_schema()] = each
    return found


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _check(where: str, value: Any, kind: Any) -> None:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, types.UnionType):
        _check_any(where, value, inner)
    elif origin is Literal:
        if value not in inner:
            raise Invalid(f"{where}: {value!r} is none of {inner}")
    elif origin is list:
        if not isinstance(value, list):
            raise Invalid(f"{where}: {value!r} is no list")
        for number, item in enumerate(value):
            _check(f"{where}[{number}]", item, inner[0])
    elif origin is dict:
        if not isinstance(value, dict):
            raise Invalid(f"{where}: {value!r} is no object")
        for key, item in value.items():
            _check(f"{where}.{key}", item, inner[1])
    elif attr.has(kind):
        _check_class(where, value, kind)
    elif type(value) is not kind:
        raise Invalid(f"{where}: {value!r} is no {kind}")


def _check_any(where: str, value: Any, kinds: tuple[Any, ...]) -> None:
    wrong = []
    for kind in kinds:
        try:
            return _check(where, value, kind)
        except Invalid as error:
            wrong.append(str(error))
    raise Invalid(f"{where}: {wrong}")


def _check_class(where: str, value: Any, kind: type) -> None:
    if not isinstance(value, dict):
        raise Invalid(f"{where}: {value!r} is no {kind.__name__}")
    fields = {each.name: each for each in attr.fields(kind) if not each.name.startswith("_")}
    if unknown := value.keys() - fields.keys():
        raise Invalid(f"{where}: {kind.__name__} has no {unknown}")
    for name, one in fields.items():
        if name in value:
            _check(f"{where}.{name}", value[name], _hints(kind)[name])
        elif one.default is attr.NOTHING:
            raise Invalid(f"{where}: {kind.__name__} needs {name}")
