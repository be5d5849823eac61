"""The thin command and that of the SDK: whoever comes in gets the same bytes and the same log."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from singer_sdk.singerlib import Catalog

from singerlake.plugin import thin
from tap_singerlake import plain_catalog
from tap_singerlake import settings as declared
from tests.tap import replay
from tests.tap.replay import (
    DOORS,
    STREAM,
    TAP_ID,
    Run,
    activate,
    command,
    config,
    deselect,
    discover,
    land,
    properties,
    record,
    run,
    schema,
)

OTHER = "customers"
_MADE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}|\"pid\":\d+|\"value\":\d+\.[-e0-9]+")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    more = {**properties("name"), "more": {"type": "number"}}
    land(folder, [schema(), record(1), activate(7), record(2)], [schema(), record(3)])
    land(folder, [schema(more), record(4, more=1.50)], [schema(stream=OTHER), record(9, OTHER)])
    land(folder, [schema(stream="empty")])
    return folder


def told(done: Run) -> list[str]:
    """The log, without what differs from run to run."""
    return _MADE.sub("…", done.log).splitlines()


def assert_same(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, Any],
    *arguments: str,
    **more: Any,
) -> Run:
    both = []
    for door in DOORS:
        monkeypatch.setattr(replay, "DOOR", door)
        both.append(run(folder, asked, *arguments, **more))
    thin, sdk = both
    assert thin.raw == sdk.raw
    assert told(thin) == told(sdk)
    assert thin.code == sdk.code
    return thin


SETTINGS: dict[str, dict[str, Any]] = {
    "all": {},
    "one stream": {"streams": [STREAM]},
    "no tap": {"tap_id": None},
    "an unknown stream": {"streams": ["order"]},
    "an unknown tap": {"tap_id": "tap-none--here"},
    "merged": {"schema_versions": "merged"},
    "latest": {"schema_versions": "latest"},
    "a version that is not there": {"schema_versions": ["nothing"]},
    "a list of a word": {"schema_versions": ["all"]},
    "the last run": {"runs": "last"},
    "as of": {"as_of": "2999-01-01"},
    "as of nonsense": {"as_of": "soon"},
    "a start": {"start_time": "2026-03-01T10:00:02Z"},
    "an end": {"end_time": "2026-03-01T10:00:03Z"},
    "files": {"files": "path"},
    "an unknown setting": {"colour": "blue", "tapid": "x"},
    "null": dict.fromkeys(declared.OF_THE_SDK),
    "off": {"flattening_enabled": False},
    "flattened": {"flattening_enabled": True, "flattening_max_depth": 0},
    "mapped": {"stream_maps": {STREAM: {"id": "id"}}},
    "of the wrong type": {"streams": "orders"},
    "no JSON": {"streams": [math.nan]},
    "no root": {"lake_root": None},
    "no lake": {"lake_root": "/nowhere/at/all"},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_count_the_same(
    case: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {**config(root), **SETTINGS[case]}
    assert_same(tmp_path, monkeypatch, asked)


STATES: dict[str, Any] = {
    "nothing": {},
    "no bookmarks": {"bookmarks": {}},
    "empty bookmarks": {"bookmarks": {STREAM: {}}},
    "a stranger": {"bookmarks": {"gone": {"sequence": 1}}},
    "another tap's": {"bookmarks": {STREAM: {"replication_key_value": 1.50}}},
    "in a message": {"type": "STATE", "value": {"bookmarks": {}}},
    "of another log": {"bookmarks": {STREAM: {"sequence": 1, "log_id": "other"}}},
    "past its end": {"bookmarks": {STREAM: {"sequence": 999}}},
    "no object": [],
    "more": {"bookmarks": {}, "more": 1},
    "no JSON": {"bookmarks": {STREAM: {"sequence": math.nan}}},
    "no JSON of a stranger": {"bookmarks": {"gone": {"at": -math.inf}}},
    "a large number": {"bookmarks": {"gone": {"at": 10**400}}},
    "markers": {"bookmarks": {STREAM: {"progress_markers": {"Note": "x"}}}},
}


@pytest.mark.parametrize("case", STATES)
def test_a_state_counts_the_same(
    case: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(tmp_path, monkeypatch, config(root), state=STATES[case])


def test_a_second_run_goes_on_the_same(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = assert_same(tmp_path, monkeypatch, config(root))
    states = [message["value"] for message in first.of("STATE")]
    assert first.numbers(STREAM) == [1, 2, 3, 4]
    for state in states:
        again = assert_same(tmp_path, monkeypatch, config(root), state=state)
        assert len(again.records()) < len(first.records())


def test_a_missing_manifest_is_read_around_the_same(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "raw" / TAP_ID / STREAM / "manifest.json").unlink()
    done = assert_same(tmp_path, monkeypatch, config(root))
    assert "by listing" in done.log


def test_a_file_that_is_damaged_is_told_the_same(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = replay.paths(root)[1]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9])
    done = assert_same(tmp_path, monkeypatch, config(root))
    assert done.code == 1
    assert "Traceback" not in done.log


def with_catalog(folder: Path, catalog: Any) -> tuple[str, str]:
    path = folder / "catalog.json"
    path.write_text(json.dumps(catalog))
    return "--catalog", str(path)


@pytest.mark.parametrize(
    "case", ["whole", "without one", "in part", "other", "empty", "full table"]
)
def test_a_catalog_counts_the_same(
    case: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = discover(config(root))
    if case == "without one":
        deselect(catalog, stream=OTHER)
    elif case == "in part":
        deselect(catalog, "name")
    elif case == "other":
        catalog["streams"] = [one for one in catalog["streams"] if one["stream"] != STREAM]
        catalog["streams"][0]["tap_stream_id"] = "gone"
    elif case == "empty":
        catalog["streams"] = []
    elif case == "full table":
        for one in catalog["streams"]:
            one["replication_method"] = "FULL_TABLE"
    assert_same(tmp_path, monkeypatch, config(root), *with_catalog(tmp_path, catalog))


crumbs = st.sampled_from(
    [[], ["properties", "a"], ["properties", "b"], ["properties", "a", "properties", "c"]]
)
said = st.sampled_from([True, False, None, "yes"])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "inclusion": st.sampled_from(["available", "automatic", "unsupported", None]),
        "selected": said,
        "selected-by-default": said,
        "replication-key": st.sampled_from([None, "id"]),
        "forced-replication-method": st.sampled_from([None, "FULL_TABLE", "INCREMENTAL"]),
    },
)
entries = st.lists(
    st.fixed_dictionaries({"breadcrumb": crumbs, "metadata": metadata}),
    max_size=4,
    unique_by=lambda one: tuple(one["breadcrumb"]),
)


@given(entries)
def test_a_selection_is_read_as_the_sdk_reads_it(rows: list[dict[str, Any]]) -> None:
    schema = {"properties": {"a": {"properties": {"c": {}}}, "b": {}}}
    catalog = {"streams": [{"tap_stream_id": "s", "schema": schema, "metadata": rows}]}
    found = plain_catalog.selected(catalog)
    if found is not None:
        mask = Catalog.from_dict(catalog)["s"].metadata.resolve_selection()
        assert found == {"s": mask.get((), True)}
        assert not found["s"] or all(mask.values())


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.sampled_from([10**400, -(10**400), math.nan, math.inf]),
    st.sampled_from(["all", "merged", "stored", "path", "x"]),
    st.lists(st.sampled_from(["all", "x"]) | st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted({*declared.KNOWN, "unknown"})), values))
def test_what_the_thin_command_takes_is_right_to_the_sdk(asked: dict[str, Any]) -> None:
    """By way of text: what is no JSON to one must not be to the other."""
    from singer_sdk.helpers._util import load_json
    from singer_sdk.plugin_base import JSONSchemaValidator

    from tap_singerlake.tap import TapSingerlake

    written = json.dumps({"lake_root": "memory://doors", **asked})
    taken = declared.plain(thin.parsed(written) or {})
    if taken is not None:
        TapSingerlake.append_builtin_config(TapSingerlake.config_jsonschema)
        config = load_json(written)
        assert not [*JSONSchemaValidator(TapSingerlake.config_jsonschema).iter_errors(config)]
        assert {name: config.get(name) for name in taken} == taken


def test_the_thin_command_knows_all_settings_of_the_sdk() -> None:
    from tap_singerlake.tap import TapSingerlake

    TapSingerlake.append_builtin_config(TapSingerlake.config_jsonschema)
    assert TapSingerlake.config_jsonschema["properties"].keys() == declared.KNOWN


@pytest.mark.parametrize("more", [{}, {"stream_maps": {STREAM: {"id": "id"}}}])
def test_only_what_needs_the_sdk_loads_it(root: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('SDK', 'singer_sdk' in sys.modules, file=sys.stderr))\n"
        "from tap_singerlake.command import main; main()"
    )
    line = command(tmp_path, config(root, **more))
    arguments = line[line.index("--config") :]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    assert f"SDK {bool(more)}" in done.stderr
