"""The settings of the two Singer plugins, as `--about` has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from text import code, prose, table

from tap_singerlake.tap import TapSingerlake
from target_singerlake.target import TargetSingerlake

_INTRODUCTION = """# Settings

Made from the code: the same as `target-singerlake --about` and `tap-singerlake --about` tell.
Settings are in the file that `--config` names, or with `--config ENV` in environment variables.
Meltano sets them from `meltano.yml`.

"""
_HEAD = ("setting", "type", "default", "meaning")


@cache
def page() -> str:
    return _INTRODUCTION + "".join(_plugin(plugin) for plugin in (TargetSingerlake, TapSingerlake))


def _plugin(plugin: Any) -> str:
    own = set(plugin.config_jsonschema["properties"])  # before the SDK adds its own
    about = plugin._get_about_info()
    rows = list(_rows(about.settings))
    prefix = about.name.upper().replace("-", "_")
    return (
        f"## {about.name}\n\n{prose(about.description)} A setting's environment variable is "
        f"`{prefix}_` and its name in capitals, such as `{prefix}_LAKE_ROOT`.\n\n"
        + table(_HEAD, (row for name, row in rows if name in own))
        + f"### {about.name}: what the Singer SDK adds\n\nIn the SDK's own words. What changes or "
        "inspects records makes the plugin build every one of them, which is many times slower.\n\n"
        + table(_HEAD, (row for name, row in rows if name not in own))
    )


def _rows(schema: dict[str, Any], above: str = "") -> Iterator[tuple[str, list[str]]]:
    for name, setting in schema.get("properties", {}).items():
        kind = setting.get("type", [])
        kinds = [one for one in ([kind] if isinstance(kind, str) else kind) if one != "null"]
        default = setting.get("default")
        shown = "" if default is None else code(json.dumps(default))
        required = name in schema.get("required", ()) and not above
        yield (
            above + name,
            [code(above + name), " or ".join(kinds), shown, _text(setting, required)],
        )
        yield from _rows(setting, f"{above}{name}.")


def _text(setting: dict[str, Any], required: bool) -> str:
    meaning = setting.get("description", "")
    # The SDK's descriptions may be markdown; ours are text with code in it.
    parts = [meaning if "](" in meaning else prose(meaning)]
    if "enum" in setting:
        parts.append("One of " + ", ".join(code(str(one)) for one in setting["enum"]) + ".")
    if setting.get("secret"):
        parts.append("A secret: never printed.")
    if required:
        parts.append("**Required.**")
    return " ".join(parts)
