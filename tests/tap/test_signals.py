"""A tap that is told to end, or whose target goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tap_singerlake.tap import TapSingerlake
from tests.tap.replay import STREAM, command, config, land, land_numbers, record, schema

pytestmark = pytest.mark.usefixtures("door")


def test_a_target_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    land(root, [schema(), *(record(n % 3000, name="x" * 500) for n in range(5000))])
    tap = subprocess.Popen(
        command(tmp_path, config(root)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert tap.stdout is not None
    assert tap.stderr is not None
    tap.stdout.read(1000)
    tap.stdout.close()
    log = tap.stderr.read().decode()
    assert tap.wait() == 1
    assert "Traceback" not in log
    assert "BrokenPipeError" not in log
    tap.stderr.close()


def test_a_closed_stdout_is_told_in_one_line(root: Path, tmp_path: Path) -> None:
    line = command(tmp_path, config(root))
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *line], stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 1
    assert b"ConfigError: stdout is closed" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_stdout_that_is_full_is_told_in_one_line(root: Path, tmp_path: Path) -> None:
    line = command(tmp_path, config(root))
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "unbuffered"),
    [(signal.SIGTERM, ""), (signal.SIGTERM, "1"), (signal.SIGINT, ""), (signal.SIGHUP, "")],
)
def test_a_signal_ends_it_at_the_end_of_a_line_with_the_state(
    tmp_path: Path, number: signal.Signals, unbuffered: str
) -> None:
    root = tmp_path / "lake"
    wide = [schema(), *(record(n % 3000, name="x" * 500) for n in range(5000))]
    land(root, [schema(), record(1)], wide)
    tap = subprocess.Popen(
        command(tmp_path, config(root)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    assert tap.stdout is not None
    printed = tap.stdout.read(100_000)
    tap.send_signal(number)
    rest, log = tap.communicate()
    assert tap.returncode == 128 + number
    assert b"Traceback" not in log
    messages = [json.loads(line) for line in (printed + rest).splitlines()]
    states = [message["value"] for message in messages if message["type"] == "STATE"]
    assert states[-1]["bookmarks"][STREAM]["sequence"] == 1


@pytest.fixture
def stalled(tmp_path: Path, door: str) -> Iterator[subprocess.Popen[bytes]]:
    """A tap whose reader took a little and then stopped to read; the tap gives up soon.

    Its pipe stays small, so that it is full by the time a signal comes.
    """
    root = tmp_path / "lake"
    land(root, [schema(), *(record(n % 3000, name="x" * 500) for n in range(5000))])
    line = command(tmp_path, config(root))
    arguments = line[line.index("--config") :]
    program = (
        "from singerlake.plugin import pipe; pipe.ROOM = 1\n"
        "from tap_singerlake import command, run, tap; run.PATIENCE = tap.PATIENCE = 1\n"
        f"{door.rpartition('.')[2]}.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as tap:
        assert tap.stdout is not None
        tap.stdout.read(1000)
        yield tap
        tap.kill()


def test_a_second_signal_ends_it_at_once_though_its_reader_stalls(
    stalled: subprocess.Popen[bytes],
) -> None:
    stalled.send_signal(signal.SIGINT)
    assert stalled.stderr is not None
    # Two signals that wait are one: the second is to come when the first was taken.
    assert any(b"stopping" in line for line in stalled.stderr)
    stalled.send_signal(signal.SIGTERM)
    assert stalled.wait(20) == 128 + signal.SIGTERM


def test_one_signal_ends_it_after_a_while_though_its_reader_stalls(
    stalled: subprocess.Popen[bytes],
) -> None:
    stalled.terminate()
    assert stalled.wait(20) == 128 + signal.SIGALRM


def test_a_signal_before_the_state_is_loaded_does_not_empty_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "lake"
    land_numbers(root, 1)
    tap = TapSingerlake(config=config(root))
    with pytest.raises(SystemExit):
        tap._stop(signal.SIGTERM)
    assert capsys.readouterr().out == ""
