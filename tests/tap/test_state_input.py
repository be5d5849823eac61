"""The state as runners keep it: bare, as a message, as Meltano has it, or a line for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError
from tap_singerlake.state_input import checked, last_of
from tests.tap.replay import STREAM, config, land_numbers, new_root, replay, run

pytestmark = pytest.mark.usefixtures("door")

OWN = {"bookmarks": {"orders": {"log_id": "x", "sequence": 3}}}
MELTANO = {"singer_state": OWN}
WRAPPED = {
    "bare": OWN,
    "message": {"type": "STATE", "value": OWN},
    "meltano": MELTANO,
    "completed": {"completed": MELTANO},
    "completed and partial": {"completed": MELTANO, "partial": {}},
    "message of meltano": {"type": "STATE", "value": MELTANO},
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_wrapping_is_taken_off(name: str) -> None:
    assert checked(WRAPPED[name]) == OWN


@pytest.mark.parametrize("state", [{}, {"singer_state": {}}, {"completed": {}}])
def test_an_empty_state_is_empty(state: Any) -> None:
    assert checked(state) == {}


def test_a_partial_state_is_newer() -> None:
    partial = {"singer_state": {"bookmarks": {"orders": {"sequence": 4}, "users": {"sequence": 1}}}}
    both = checked({"completed": MELTANO, "partial": partial})
    assert both == partial["singer_state"]


@pytest.mark.parametrize("state", [{"orders": 3}, {"singer_state": {"orders": {"sequence": 3}}}])
def test_a_state_without_bookmarks_is_none_of_ours(state: Any) -> None:
    with pytest.raises(ConfigError, match=r"no `bookmarks`.* found 'orders'"):
        checked(state)


def test_of_a_state_on_each_line_the_last_counts() -> None:
    lines = [json.dumps({"bookmarks": {"orders": {"sequence": n}}}) for n in (1, 2, 3)]
    assert last_of("\n".join(lines) + "\n\n") == lines[-1]
    for text in ("", "{}", json.dumps(OWN, indent=2), "{}\nno JSON"):
        assert last_of(text) == text


def test_a_state_without_end_is_an_error() -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        last_of('{"singer_state": ' * 100_000 + "{}" + "}" * 100_000)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_run_goes_on_where_a_wrapped_state_ends(name: str) -> None:
    root = new_root()
    land_numbers(root, 1, 2)
    first = replay(config(root))
    land_numbers(root, 3)
    text = json.dumps(WRAPPED[name]).replace(json.dumps(OWN), json.dumps(first.state))
    assert replay(config(root), json.loads(text)).numbers(STREAM) == [3]


def test_the_command_takes_the_states_that_a_target_wrote(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    land_numbers(root, 1, 2)
    first = run(tmp_path, config(root))
    states = tmp_path / "states.jsonl"
    states.write_bytes(b"".join(line + b"\n" for line in first.lines if b'"STATE"' in line))
    assert len(states.read_text().splitlines()) > 1
    land_numbers(root, 3)
    second = run(tmp_path, config(root), "--state", str(states))
    assert (second.code, second.numbers()) == (0, [3])
