"""Secrets that stay in their process: what holds options holds references in their place.

A reference is `{"from_env": NAME}`. People write them for variables of their own; a secret that
is given word for word gets a name of ours, which only this process can resolve, unless somebody
lends it to another in that one's environment.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from singerlake.errors import BadLocation
from singerlake.store.address import password

_REFERENCE = "from_env"
_OURS = "SINGERLAKE_LENT_"
_SECRET_NAME = re.compile(
    r"secret|password|passwd|pwd|pass_?phrase|token|\btok\b|key|sas|credential|connection|auth"
    r"|cookie|header",
    re.I,
)

_names: dict[str, str] = {}
_values: dict[str, str] = {}

Change = Callable[[str, Any, bool], Any]
"""What to put in the place of a text, or of a reference, at this path; whether it is secret."""


def seal(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a reference in the place of every secret; those that are there stay."""

    def change(path: str, value: Any, secret: bool) -> Any:
        literal = secret and isinstance(value, str)
        return {_REFERENCE: _name_for(value)} if literal else value

    return _changed(options, change)


def unseal(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with what their references stand for. Raises `BadLocation`."""

    def change(path: str, value: Any, secret: bool) -> Any:
        return value if isinstance(value, str) else _resolved(value[_REFERENCE], path)

    return _changed(options, change)


def literal_secrets(options: Mapping[str, Any]) -> list[str]:
    """The names of the options that hold a secret word for word."""
    return [path for path, value in _secrets(options) if isinstance(value, str)]


def secret_values(options: Mapping[str, Any]) -> Iterator[str]:
    """Every secret of the options, sealed or not, that this process knows."""
    for _, value in _secrets(options):
        found = value if isinstance(value, str) else _value_of(value[_REFERENCE])
        if found:
            yield found
            if in_url := password(found):
                yield in_url.rpartition("@")[0].partition(":")[2]


def lent() -> dict[str, str]:
    """The environment in which another process can unseal what this one has sealed.

    Without what no environment can hold.
    """
    return {name: value for name, value in _values.items() if "\0" not in value}


def _name_for(secret: str) -> str:
    """The same for the same secret: a plan that is made twice is the same plan."""
    name = _names.setdefault(secret, f"{_OURS}{uuid.uuid4().hex}")
    _values[name] = secret
    return name


def _value_of(name: str) -> str | None:
    return _values.get(name) or os.environ.get(name)


def _resolved(name: str, path: str) -> str:
    found = _value_of(name)
    if found:
        return found
    if name.startswith(_OURS):
        raise BadLocation(
            f"storage_options: {path} is a secret that was given to another process, and did not "
            "come along. For Spark, singerlake.spark.lend(spark, storage_options) hands it to the "
            f'executors; elsewhere write {{"{_REFERENCE}": "NAME"}} in its place, and set that '
            "variable in each process"
        )
    raise BadLocation(
        f"storage_options: {path} is to come from the environment variable {name}, which is not "
        "set, or is empty, in this process"
    )


def _secrets(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The secret texts and the references, each with its path."""
    found: list[tuple[str, Any]] = []

    def note(path: str, value: Any, secret: bool) -> Any:
        if secret or not isinstance(value, str):
            found.append((path, value))

    _changed(options, note)
    return found


def _changed(options: Mapping[str, Any], change: Change) -> dict[str, Any]:
    return {
        name: _each(value, str(name), _is_secret(name), change) for name, value in options.items()
    }


def _each(value: Any, path: str, inside: bool, change: Change) -> Any:
    """A copy of the value with every text and reference in it changed."""
    if isinstance(value, str):
        return change(path, value, bool(value) and (inside or bool(password(value))))
    if isinstance(value, Mapping):
        if len(value) == 1 and isinstance(value.get(_REFERENCE), str):
            return change(path, value, True)
        return {
            name: _each(inner, f"{path}.{name}", inside or _is_secret(name), change)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        inner = [_each(each, path, inside, change) for each in value]
        return inner if isinstance(value, list) else tuple(inner)
    return value


def _is_secret(name: object) -> bool:
    return bool(_SECRET_NAME.search(str(name)))
