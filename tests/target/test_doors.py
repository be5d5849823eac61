"""The thin command and that of the SDK: whoever comes in gets the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from singerlake.errors import UnknownStream
from target_singerlake import settings as declared
from target_singerlake.target import TargetSingerlake
from tests.target import driving
from tests.target.driving import (
    COMMAND,
    DOORS,
    PATHS,
    TAP_ID,
    Outcome,
    as_sent,
    patched,
    record,
    run,
    schema,
    state,
    stored,
    timed,
)
from tests.target.test_sdk_suite import FIXTURES

LINES = [schema("s"), record("s", 1), timed("s", 2), state({"at": 2})]
BAD = {
    "no JSON": [*LINES, "{"],
    "an unknown stream": [*LINES, record("other", 1)],
    "no key": [schema("s", ["id", "more"]), record("s", 1)],
    "an unknown type": [*LINES, '{"type":"ODD"}'],
    "a batch": [*LINES, '{"type":"BATCH","stream":"s","manifest":["file:///none"],"encoding":{}}'],
    "nothing": [],
}
SETTINGS: dict[str, dict[str, Any]] = {
    "an unknown setting": {"colour": "blue", "compression_levl": 3, "load_method": "upsert"},
    "null": dict.fromkeys(declared.OF_THE_SDK),
    "off": {"flattening_enabled": False, "add_record_metadata": False},
    "of the wrong type": {"max_file_bytes": "many"},
    "too small": {"max_file_bytes": 0},
    "waits that exclude each other": {"lock_max_wait_seconds": 1},
    "no root": {"lake_root": None},
    "an empty root": {"lake_root": " "},
    "an unknown scheme": {"lake_root": "nope://x"},
    "mapped": driving.MAPPED,
}
_MADE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}|[0-9a-f]{8}-[-0-9a-f]{27}|\"pid\":\d+|in \d+ s;|door-\d"
)


def through_both(
    lines: Iterable[str | bytes] | bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> tuple[Outcome, Outcome]:
    """Each into a lake of its own."""
    outcomes = []
    for number, door in enumerate(DOORS):
        monkeypatch.setattr(driving, "DOOR", door)
        settings = {"lake_root": str(folder / f"door-{number}"), **more}
        root = settings.pop("lake_root")
        outcomes.append(run(lines, root, **settings))
    return outcomes[0], outcomes[1]


def told(outcome: Outcome) -> list[str]:
    """The log, without what differs from run to run."""
    lines = _MADE.sub("…", outcome.log).splitlines()
    return [line for line in lines if "which a killed process left" not in line]


def kept(folder: Path, number: int, stream: str) -> list[bytes]:
    try:
        return [as_sent(line) for line in stored(folder / f"door-{number}", stream)]
    except UnknownStream:
        return []


def assert_same(both: tuple[Outcome, Outcome], folder: Path, streams: Iterable[str]) -> None:
    thin, sdk = both
    assert (thin.code, thin.states) == (sdk.code, sdk.states)
    assert told(thin) == told(sdk)
    for stream in streams:
        assert kept(folder, 0, stream) == kept(folder, 1, stream)


@pytest.mark.parametrize("fixture", sorted(FIXTURES))
def test_a_fixture_of_the_sdk_lands_the_same(
    fixture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = FIXTURES[fixture]
    streams = {json.loads(line).get("stream", "") for line in data.splitlines() if line.strip()}
    assert_same(through_both(data, tmp_path, monkeypatch), tmp_path, streams - {""})


@pytest.mark.parametrize("bad", BAD)
def test_what_is_wrong_with_the_input_is_told_the_same(
    bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(through_both(BAD[bad], tmp_path, monkeypatch), tmp_path, ["s"])


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_count_the_same(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(through_both(LINES, tmp_path, monkeypatch, **SETTINGS[case]), tmp_path, [])


LOADED = """
import atexit, sys
atexit.register(lambda: print("the SDK is", "singer_sdk" in sys.modules, file=sys.stderr))
"""


@pytest.mark.parametrize("path", PATHS)
def test_only_what_needs_the_sdk_loads_it(path: str, tmp_path: Path) -> None:
    command = patched(LOADED)
    command[-1] = command[-1].replace("target_singerlake.target", "target_singerlake.command")
    outcome = run(LINES, tmp_path, command=command, **PATHS[path])
    assert outcome.code == 0, outcome.log
    assert f"the SDK is {path == 'mapped path'}" in outcome.log


def test_the_command_is_the_thin_one() -> None:
    program = Path(driving.__file__).parents[2] / "target_singerlake" / "__main__.py"
    assert COMMAND[-1] == "target_singerlake"
    assert "target_singerlake.command import main" in program.read_text()


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10**12),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
configs = st.dictionaries(
    st.sampled_from(sorted({*declared.KNOWN, *declared.OF_OTHER_TARGETS, "unknown"})), values
)


@settings(max_examples=60)
@given(configs)
@example({"stream_maps": None})
def test_what_the_thin_command_takes_the_sdk_takes_alike(config: dict[str, Any]) -> None:
    config = {"lake_root": "memory://doors", "tap_id": TAP_ID, **config}
    taken = declared.plain(config)
    if taken is not None:
        with driving.signal_handlers_kept():
            target = TargetSingerlake(config=dict(config))
        same = {name: target.config.get(name) for name in taken}
        assert taken == same
        rest = {name: target.config[name] for name in target.config.keys() - taken.keys()}
        assert not any(rest.values())


def test_the_thin_command_knows_all_settings_of_the_sdk() -> None:
    with driving.signal_handlers_kept():
        TargetSingerlake(config={"lake_root": "memory://doors"})
    assert TargetSingerlake.config_jsonschema["properties"].keys() == declared.KNOWN
