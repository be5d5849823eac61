"""The plugin definitions in meltano.yml say what the plugins say of themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2] / "meltano.yml"
KINDS = {"string", "integer", "decimal", "boolean", "object", "array", "date_iso8601"}
PLUGINS = {"tap-singerlake": "extractors", "target-singerlake": "loaders"}


@pytest.fixture(scope="module", params=PLUGINS)
def plugin(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """A definition, and what `--about` tells."""
    plugins = yaml.safe_load(PROJECT.read_text())["plugins"][PLUGINS[request.param]]
    (definition,) = (each for each in plugins if each["name"] == request.param)
    module = request.param.replace("-", "_")
    about = subprocess.run(
        [sys.executable, "-m", module, "--about", "--format=json"], capture_output=True, check=True
    )
    return definition, json.loads(about.stdout)


def test_settings(plugin: tuple[dict[str, Any], dict[str, Any]]) -> None:
    definition, about = plugin
    defined = {setting["name"]: setting for setting in definition["settings"]}
    declared = about["settings"]["properties"]
    assert defined.keys() == declared.keys()
    for name, setting in defined.items():
        assert setting["kind"] in KINDS
        assert setting["description"]
        assert setting.get("sensitive", False) == declared[name].get("secret", False)
    required = about["settings"]["required"]
    assert definition["settings_group_validation"] == [required]


def test_defaults(plugin: tuple[dict[str, Any], dict[str, Any]]) -> None:
    definition, about = plugin
    defined = {setting["name"]: setting.get("value") for setting in definition["settings"]}
    defaults = {
        name: setting["default"]
        for name, setting in about["settings"]["properties"].items()
        if "default" in setting
    }
    if defined.pop("tap_id") is not None:
        assert definition["name"] == "target-singerlake"
    for name in {"runs", "schema_versions"} & defaults.keys():
        defaults[name] = [defaults[name]]  # a word stands for itself, or alone in a list
    assert {name: value for name, value in defined.items() if value is not None} == defaults


def test_capabilities(plugin: tuple[dict[str, Any], dict[str, Any]]) -> None:
    definition, about = plugin
    assert definition["capabilities"] == sorted(about["capabilities"])


def test_nothing_is_sent_anywhere() -> None:
    assert yaml.safe_load(PROJECT.read_text())["send_anonymous_usage_stats"] is False
