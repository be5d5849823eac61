"""`python -m singerlake.lineage.schema.derive`: facet schemas out of openlineage-python.

Prints JSON. It runs in a process of its own, which takes half a second and 38 MB: the proxy needs
neither again. The package has no schema files, but a class for every facet of the spec: its fields,
their types, whether they are required, and checks that give the formats away.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import types
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

_GROUPS = {
    "RunFacet": "run",
    "JobFacet": "job",
    "InputDatasetFacet": "input",
    "OutputDatasetFacet": "output",
    "DatasetFacet": "dataset",
}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FORMATS = {"isoparse": "date-time", "urlparse": "uri", "UUID": "uuid"}
"""What a field's check calls, and the format that this means."""

_KEYS = {
    "DatasetVersion": "version",
    "Datasource": "dataSource",
    "ProcessingEngine": "processing_engine",
    "SQL": "sql",
    "InputSubset": "subset",
    "OutputSubset": "subset",
}
"""Facets whose key is not the name of their class in camel case."""

Schema = dict[str, Any]

_URI = {"type": "string", "format": "uri"}
_FACET_IN_FACET: Schema = {
    "type": "object",
    "properties": {"_producer": _URI, "_schemaURL": _URI, "_deleted": {"type": "boolean"}},
    "required": ["_producer", "_schemaURL"],
}


def facets() -> Iterator[dict[str, Any]]:
    """Every facet: its key, the group of facets that it may stand in, its address, its schema."""
    generated = importlib.import_module("openlineage.client.generated")
    base = importlib.import_module("openlineage.client.generated.base")
    groups = {getattr(base, name): group for name, group in _GROUPS.items()}
    for found in pkgutil.iter_modules(generated.__path__):
        module = importlib.import_module(f"{generated.__name__}.{found.name}")
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__:
                continue
            group = next((groups[above] for above in kind.__mro__[1:] if above in groups), None)
            if group is not None:
                schema = _Deriver(module, base).document(kind)
                yield {
                    "key": _key(kind.__name__),
                    "group": group,
                    "url": kind._get_schema(),  # type: ignore[attr-defined]
                    "schema": schema,
                }


def _key(name: str) -> str:
    for suffix in ("InputDatasetFacet", "OutputDatasetFacet", *_GROUPS):
        stem = name.removesuffix(suffix)
        if stem != name:
            return _KEYS.get(stem, stem[:1].lower() + stem[1:])
    return name


class _Deriver:
    """One document: nested classes become definitions, which may refer to themselves."""

    def __init__(self, module: types.ModuleType, base: types.ModuleType) -> None:
        self._module, self._base = module, base
        self._definitions: dict[str, Schema] = {}

    def document(self, kind: type) -> Schema:
        schema = self._object(kind)
        return schema | {"$defs": self._definitions} if self._definitions else schema

    def _object(self, kind: type) -> Schema:
        import attr

        names = {**vars(self._base), **vars(typing), **vars(self._module)}
        hints = typing.get_type_hints(kind, names)
        properties: dict[str, Schema] = {}
        required = []
        for field in attr.fields(kind):
            if field.name.startswith("_"):
                continue  # those of every facet
            schema = self._of(hints[field.name]) | _format(field)
            if schema == {"type": "string"} and field.default and isinstance(field.default, str):
                schema = {"const": field.default}  # what tells one kind of object from another
                required.append(field.name)
            if field.default is attr.NOTHING:
                required.append(field.name)
            properties[field.name] = schema
        return {"type": "object", "properties": properties, "required": sorted(required)}

    def _of(self, hint: Any) -> Schema:
        """A field that may be None may be missing: JSON's null is in no schema of the spec."""
        if hint is Any:
            return {}
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            options = [self._of(one) for one in arguments if one is not type(None)]
            return options[0] if len(options) == 1 else {"oneOf": options}
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin is list:
            return {"type": "array", "items": self._of(arguments[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self._of(arguments[1])}
        if inspect.isclass(hint) and issubclass(hint, Enum):
            return {"enum": [one.value for one in hint]}
        if inspect.isclass(hint) and hint.__module__ == self._base.__name__:
            return _FACET_IN_FACET
        if inspect.isclass(hint):
            return self._definition(hint)
        raise TypeError(f"a type that no schema is known for: {hint!r}")

    def _definition(self, kind: type) -> Schema:
        if kind.__name__ not in self._definitions:
            self._definitions[kind.__name__] = {}
            self._definitions[kind.__name__] = self._object(kind)
        return {"$ref": f"#/$defs/{kind.__name__}"}


def _format(field: Any) -> Schema:
    """The format that a field's own check asks for."""
    pending: list[Any] = [field.validator]
    seen: set[str] = set()
    while pending:
        check = pending.pop()
        pending += getattr(check, "_validators", ())
        seen.update(getattr(getattr(check, "__code__", None), "co_names", ()))
    return next(({"format": name} for call, name in _FORMATS.items() if call in seen), {})


if __name__ == "__main__":
    json.dump(list(facets()), sys.stdout)
