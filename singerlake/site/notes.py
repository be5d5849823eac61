"""What people wrote about a tap, ready to show: text stays text, and only safe links are links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from singerlake.site.words import plain, visible

_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20\x7f]+", re.I)

_ON_TOP = ("owner", "description")
"""These stand beside the tap's name, the others below."""


@dataclass(frozen=True)
class Value:
    """A text, with what it is called and where it leads, if anywhere."""

    text: str
    href: str | None = None
    label: str = ""


@dataclass(frozen=True)
class Note:
    """One annotation: its name, and one value or several."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Notes:
    """A tap's annotations."""

    owner: Value | None = None
    description: str = ""
    others: tuple[Note, ...] = ()


def notes(annotations: Mapping[str, Any]) -> Notes:
    """Whatever stands in a tap's entry of the lake document; what is empty is left out."""
    owner, description = annotations.get("owner"), annotations.get("description")
    others = [
        Note(visible(str(name)), _values(value))
        for name, value in annotations.items()
        if name not in _ON_TOP and value not in ("", None, {}, [])
    ]
    return Notes(
        owner=_value(owner) if owner else None,
        description=plain(description) if description else "",
        others=tuple(others),
    )


def href(text: str) -> str | None:
    """The text as a link, if it is one that only leads somewhere: http, https and mailto."""
    return text if _LINK.fullmatch(text) else None


def _values(value: Any) -> tuple[Value, ...]:
    if isinstance(value, Mapping):
        return tuple(_value(one, visible(str(name))) for name, one in value.items())
    if isinstance(value, list):
        return tuple(_value(one) for one in value)
    return (_value(value),)


def _value(value: Any, label: str = "") -> Value:
    text = plain(value)
    return Value(text.removeprefix("mailto:"), href(text.strip()), label)
