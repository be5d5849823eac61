"""The thin command and that of the SDK: whoever comes in gets the same."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from singer_sdk.helpers._util import load_json

from singerlake.errors import UnknownStream
from singerlake.plugin import thin
from target_singerlake import settings as declared
from target_singerlake.target import TargetSingerlake
from tests.plugin import meltano
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
    shell,
    state,
    stored,
    text,
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
    "a number that no float holds": {"max_file_bytes": 10**400, "max_file_records": 10**400},
    "more seconds than a float holds": {"commit_interval_seconds": 10**400},
    "more seconds than a lock can wait": {"lock_max_wait_seconds": 1e11},
    "no JSON": {"commit_interval_seconds": math.nan},
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


UNDER_MELTANO = {
    "a run": (LINES, {}),
    "an error": (BAD["an unknown stream"], {}),
    "a fault": (LINES, {"staged_files": "nope://x"}),
    "settings that the SDK refuses": (LINES, {"max_file_bytes": 0}),
}


@pytest.mark.parametrize("case", UNDER_MELTANO)
def test_the_log_under_meltano_is_the_same(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, more = UNDER_MELTANO[case]
    env = meltano.environment(tmp_path)
    thin, sdk = through_both(lines, tmp_path, monkeypatch, env=env, **more)
    assert meltano.told(thin.log, _MADE) == meltano.told(sdk.log, _MADE)
    assert (thin.code, thin.states) == (sdk.code, sdk.states)


def test_the_text_under_meltano_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = meltano.environment(tmp_path, "text", "WARNING")
    both = through_both(BAD["no JSON"], tmp_path, monkeypatch, env=env)
    assert_same(both, tmp_path, ["s"])
    assert [line.partition(":")[0] for line in told(both[0])] == ["METRIC", "BadMessage"]


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
@pytest.mark.parametrize("under", ["the shell", *meltano.FORMATTERS])
def test_only_what_needs_the_sdk_loads_it(path: str, under: str, tmp_path: Path) -> None:
    env = {} if under == "the shell" else meltano.environment(tmp_path, under)
    outcome = run(LINES, tmp_path / "lake", command=patched(LOADED), env=env, **PATHS[path])
    assert outcome.code == 0, outcome.log
    assert f"the SDK is {path == 'mapped path'}" in outcome.log


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize("more", [{}, {"validate_records": True}])
def test_settings_come_through_a_pipe(tmp_path: Path, more: dict[str, Any]) -> None:
    """Which can be read once only."""
    settings = {"lake_root": str(tmp_path / "lake"), "tap_id": TAP_ID, **more}
    reading, writing = os.pipe()
    os.write(writing, json.dumps(settings).encode())
    os.close(writing)
    line = [sys.executable, "-m", driving.DOOR, "--config", f"/dev/fd/{reading}"]
    done = subprocess.run(line, input=text(LINES), capture_output=True, pass_fds=[reading])
    os.close(reading)
    assert (done.returncode, done.stdout) == (0, b'{"at": 2}\n'), done.stderr


@pytest.mark.usefixtures("door")
def test_without_a_stdout_a_run_without_state_ends_well(tmp_path: Path) -> None:
    outcome = run(LINES[:-1], tmp_path, command=shell('exec "$@" >&-'))
    assert outcome.code == 0, outcome.log
    assert "Traceback" not in outcome.log
    assert len(stored(tmp_path, "s")) == 2


def test_the_command_is_the_thin_one() -> None:
    program = Path(driving.__file__).parents[2] / "target_singerlake" / "__main__.py"
    assert COMMAND[-1] == "target_singerlake"
    assert "target_singerlake.command import main" in program.read_text()


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10**12),
    st.sampled_from([10**400, -(10**400)]),
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
@example({"max_file_bytes": 10**400})
@example({"unknown": math.nan})
def test_what_the_thin_command_takes_the_sdk_takes_alike(config: dict[str, Any]) -> None:
    """By way of text: what is no JSON to one must not be to the other."""
    written = json.dumps({"lake_root": "memory://doors", "tap_id": TAP_ID, **config})
    taken = declared.plain(thin.parsed(written) or {})
    if taken is not None:
        with driving.signal_handlers_kept():
            target = TargetSingerlake(config=load_json(written))
        same = {name: _as_float(target.config.get(name)) for name in taken}
        assert {name: _as_float(value) for name, value in taken.items()} == same
        rest = {name: target.config[name] for name in target.config.keys() - taken.keys()}
        assert not any(rest.values())


def _as_float(value: Any) -> Any:
    """The SDK reads decimals."""
    return float(value) if isinstance(value, Decimal) else value


def test_the_thin_command_knows_all_settings_of_the_sdk() -> None:
    with driving.signal_handlers_kept():
        TargetSingerlake(config={"lake_root": "memory://doors"})
    assert TargetSingerlake.config_jsonschema["properties"].keys() == declared.KNOWN
