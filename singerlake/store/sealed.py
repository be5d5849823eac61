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

_REFERENCE = "from_env"
_OURS = "SINGERLAKE_LENT_"
_SECRET_NAME = re.compile(r"secret|password|passphrase|token|key|sas|credential|connection", re.I)

_names: dict[str, str] = {}
_values: dict[str, str] = {}


def seal(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a reference in the place of every secret; those that are there stay."""
    return _changed(options, lambda path, value: {_REFERENCE: _name_for(value)})


def unseal(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with what their references stand for. Raises `BadLocation`."""
    return {name: _resolved(value, str(name)) for name, value in options.items()}


def literal_secrets(options: Mapping[str, Any]) -> list[str]:
    """The names of the options that hold a secret word for word."""
    found: list[str] = []
    _changed(options, lambda path, value: found.append(path))
    return found


def lent() -> dict[str, str]:
    """The environment in which another process can unseal what this one has sealed."""
    return dict(_values)


def secret_values(options: Mapping[str, Any]) -> Iterator[str]:
    """Every secret of the options, sealed or not, that this process knows."""
    found: list[str] = []
    _changed(options, lambda path, value: found.append(value))
    yield from found
    for name in _references(options):
        if value := _values.get(name) or os.environ.get(name):
            yield value


def _name_for(secret: str) -> str:
    """The same for the same secret: a plan that is made twice is the same plan."""
    name = _names.setdefault(secret, f"{_OURS}{uuid.uuid4().hex}")
    _values[name] = secret
    return name


def _changed(
    options: Mapping[str, Any],
    change: Callable[[str, str], Any],
    path: str = "",
    inside: bool = False,
) -> dict[str, Any]:
    """A copy with `change(path, value)` for each secret text that is no reference."""
    copy: dict[str, Any] = {}
    for name, value in options.items():
        where = f"{path}{name}"
        secret = inside or bool(_SECRET_NAME.search(str(name)))
        if isinstance(value, Mapping) and _reference(value) is None:
            copy[name] = _changed(value, change, f"{where}.", secret)
        else:
            is_text = secret and isinstance(value, str) and value
            copy[name] = change(where, value) if is_text else value
    return copy


def _resolved(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    name = _reference(value)
    if name is None:
        return {key: _resolved(each, f"{path}.{key}") for key, each in value.items()}
    found = _values.get(name) or os.environ.get(name)
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


def _references(options: Mapping[str, Any]) -> Iterator[str]:
    for value in options.values():
        if isinstance(value, Mapping):
            name = _reference(value)
            yield from _references(value) if name is None else (name,)


def _reference(value: Mapping[str, Any]) -> str | None:
    """The variable's name, where the value is a reference."""
    name = value.get(_REFERENCE)
    return name if len(value) == 1 and isinstance(name, str) else None
