"""What `--about` prints for people: every setting with what it means."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

WIDTH = 100


class About(Protocol):
    """What singer-sdk knows of a plugin."""

    name: str
    description: str | None
    version: str
    sdk_version: str
    supported_python_versions: Sequence[str] | None
    capabilities: Sequence[Any]
    settings: dict[str, Any]
    env_var_prefix: str


def as_text(about: About) -> str:
    """The SDK's own text has a setting's name and type, and not what it is for."""
    lines = [
        f"{about.name} {about.version} (singer-sdk {about.sdk_version})",
        about.description or "",
        "",
        *_filled("Python: ", ", ".join(about.supported_python_versions or ())),
        *_filled("Capabilities: ", ", ".join(str(each.value) for each in about.capabilities)),
        "",
        "Settings, from --config or from the environment:",
    ]
    required = about.settings.get("required", ())
    for name, schema in about.settings["properties"].items():
        lines += ["", *_setting(name, schema, name in required, about.env_var_prefix)]
    return "\n".join(lines)


def _setting(name: str, schema: Mapping[str, Any], is_required: bool, prefix: str) -> Iterator[str]:
    facts = [_type(schema)]
    if is_required:
        facts.append("required")
    if schema.get("default") is not None:
        facts.append(f"default {json.dumps(schema['default'])}")
    if schema.get("secret"):
        facts.append("never printed")
    yield f"  {name} ({', '.join(facts)})"
    yield f"    {prefix}{name.upper().replace('-', '_')}"
    yield from _filled("    ", schema.get("description", ""))


def _type(schema: Mapping[str, Any]) -> str:
    types = schema.get("type", "any")
    names = [types] if isinstance(types, str) else types
    return " or ".join(name for name in names if name != "null")


def _filled(start: str, text: str) -> list[str]:
    indent = " " * (len(start) - len(start.lstrip()) or 2)
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=indent)
