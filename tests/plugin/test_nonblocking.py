"""A stdout that does not block, as some programs hand it to those that they start."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tap.replay import command, config, land, record, schema
from tests.target.driving import COMMAND, environment, text
from tests.target.driving import record as sent_record
from tests.target.driving import schema as sent_schema
from tests.target.driving import state as sent_state

WIDE = "x" * 2000


def pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    return reading, writing


def terminal() -> tuple[int, int]:
    import tty

    reading, writing = pty.openpty()
    tty.setraw(writing)  # no line ends of a terminal's own
    return reading, writing


ENDS = {"a pipe": pipe, "a terminal": terminal}


def printed(arguments: list[str], new: Callable[[], tuple[int, int]], given: bytes = b"") -> bytes:
    """What the command prints to a reader that lets it wait before each portion."""
    reading, writing = new()
    os.set_blocking(writing, False)
    with subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        held = b""
        try:
            os.close(writing)
            while True:
                time.sleep(0.002)
                portion = os.read(reading, 1 << 16)
                if not portion:
                    break
                held += portion
        except OSError:
            pass  # how a terminal says that its other end is closed
        finally:
            os.close(reading)
        assert process.stderr is not None
        log = process.stderr.read().decode()
        assert process.wait() == 0, log
        assert "Traceback" not in log
        return held


@pytest.mark.parametrize("end", ENDS)
def test_the_tap_waits_and_tears_no_line(tmp_path: Path, end: str) -> None:
    root = tmp_path / "lake"
    land(root, [schema(), *(record(number % 3000, name=WIDE) for number in range(1000))])
    lines = printed(command(tmp_path, config(root)), ENDS[end]).splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds.count("RECORD") == 1000
    assert kinds[-1] == "STATE"


def test_the_tap_prints_a_long_catalogue(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    fields = {f"field_{number}": {"type": "string"} for number in range(5000)}
    land(root, [schema({"id": {"type": "integer"}, **fields}), record(1)])
    catalogue = json.loads(printed([*command(tmp_path, config(root)), "--discover"], pipe))
    assert len(catalogue["streams"][0]["schema"]["properties"]) == 5001


@pytest.mark.parametrize("end", ENDS)
def test_the_target_waits_and_tears_no_state(tmp_path: Path, end: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"lake_root": str(tmp_path / "lake"), "tap_id": "t"}))
    value = {"at": ["x" * 100] * 20_000}
    given = text([sent_schema("s"), sent_record("s", 1), sent_state(value)])
    out = printed([*COMMAND, "--config", str(path)], ENDS[end], given)
    assert [json.loads(line) for line in out.splitlines()] == [value]
