"""What is wrong with an event: where, what was expected, what was found.

A value is never quoted: problems are logged, and events may hold secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

MOST = 20
LONGEST = 100
"""Characters of a name; a longer one is shown in part."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
_KINDS |= {dict: "object", type(None): "null"}
MASK = "the value"


class Problem(NamedTuple):
    """`path` as in `inputs[0].facets.schema.fields[2].name`; empty for the event itself."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'the event'}: {self.message}"


def problem_of(error: ValidationError, above: Sequence[str | int] = ()) -> Problem:
    found = _KINDS.get(type(error.instance), "value")
    path = [*above, *error.instance_path]
    kind: Any = error.kind
    match kind.name:
        case "required":
            return Problem(path_of([*path, kind.property]), "expected a value, found nothing")
        case "type":
            return Problem(path_of(path), f"expected {' or '.join(kind.types)}, found {found}")
        case "format":
            return Problem(path_of(path), f"expected the format {kind.format}, found another text")
        case "enum":
            options = kind.options if isinstance(kind.options, list) else json.loads(kind.options)
            allowed = ", ".join(map(str, options))
            return Problem(path_of(path), f"expected one of {allowed}, found another {found}")
        case "not":
            return Problem(path_of(path), "expected an event that is of one kind, found several")
    return Problem(path_of(path), f"found that {error.message[:300]}")


def path_of(parts: Iterable[str | int]) -> str:
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(part) <= LONGEST and _PLAIN_NAME.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part[:LONGEST])}]"
    return path


def as_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [one._asdict() for one in problems]
