"""What surrounds the tap: pipes, a closed stdout, Meltano. Through both doors it is the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.plugin import meltano
from tests.tap import replay
from tests.tap.replay import DOORS, STREAM, config, deselect, discover

Done = subprocess.CompletedProcess[bytes]
_MADE = re.compile(r"\"pid\":\d+|\"value\":\d+\.[-e0-9]+")


def start(*arguments: str, pass_fds: tuple[int, ...] = (), **more: str) -> Done:
    line = [sys.executable, "-m", replay.DOOR, *arguments]
    return subprocess.run(
        line, capture_output=True, env={**os.environ, **more}, pass_fds=pass_fds, check=False
    )


def through_pipes(given: Mapping[str, Any], *more: str) -> Done:
    """The tap with each of these options from a pipe, which can be read once only."""
    with ExitStack() as stack:
        arguments, descriptors = [*more], []
        for name, value in given.items():
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            os.write(writing, json.dumps(value).encode())
            os.close(writing)
            arguments += [f"--{name}", f"/dev/fd/{reading}"]
            descriptors.append(reading)
        return start(*arguments, pass_fds=tuple(descriptors))


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize("through", ["config", "state", "catalog"])
def test_what_the_sdk_needs_may_come_through_a_pipe(
    root: Path, tmp_path: Path, through: str
) -> None:
    """`start_time` is the SDK's: the thin command must have left the pipe as it was."""
    asked = config(root, start_time="2020-01-01T00:00:00Z")
    given = {"config": asked, "state": {"bookmarks": {}}, "catalog": discover(asked)}
    (tmp_path / "config.json").write_text(json.dumps(asked))
    more = () if through == "config" else ("--config", str(tmp_path / "config.json"))
    done = through_pipes({through: given[through]}, *more)
    assert done.returncode == 0, done.stderr
    assert replay.Output(done.stdout).numbers() == [1, 2]


@pytest.mark.usefixtures("door")
def test_without_a_stdout_a_replay_of_nothing_ends_well(root: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps(deselect(discover(config(root)))))
    line = replay.command(tmp_path, config(root), "--catalog", str(catalog))
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *line], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("case", ["a replay", "no lake", "a setting of the SDK"])
def test_the_log_under_meltano_is_the_same(
    case: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"no lake": {"lake_root": "/nowhere"}, "a setting of the SDK": {"streams": STREAM}}
    asked = tmp_path / "config.json"
    asked.write_text(json.dumps({**config(root), **more.get(case, {})}))
    found = []
    for door in DOORS:
        monkeypatch.setattr(replay, "DOOR", door)
        done = start("--config", str(asked), **meltano.environment(tmp_path))
        log = meltano.told(done.stderr.decode(), _MADE)
        found.append((done.returncode, done.stdout, log))
    assert found[0] == found[1]
    assert found[0][0] == (case != "a replay")


@pytest.mark.parametrize("formatter", meltano.FORMATTERS)
def test_meltano_has_not_to_wait_for_the_sdk(formatter: str, root: Path, tmp_path: Path) -> None:
    asked = tmp_path / "config.json"
    asked.write_text(json.dumps(config(root)))
    more = meltano.environment(tmp_path, formatter)
    done = start("--config", str(asked), PYTHONPROFILEIMPORTTIME="1", **more)
    assert done.returncode == 0
    imported = re.findall(r"^import time:.*\| *([\w.]+)$", done.stderr.decode(), re.MULTILINE)
    assert "tap_singerlake.run" in imported
    assert "singer_sdk" not in imported
