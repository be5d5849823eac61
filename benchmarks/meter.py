"""What one command of a pipeline costs: seconds, seconds of processor, peak memory.

This module runs twice: here, and as a script, which runs the pipeline. The script is a process of
its own, and imports little, because the system counts in a command's peak the memory of the
process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LONGEST = 900
"""Seconds after which a pipeline is given up."""


class Failed(Exception):
    """A command of the pipeline ended with an error."""


@dataclass(frozen=True)
class Cost:
    """Seconds from the start of the pipeline to its end; the others are of the one command.

    `processor` is user and system time, `user` the part of it that is steadier.
    """

    wall: float
    processor: float
    user: float
    peak_bytes: int


def measure(
    commands: Sequence[Sequence[str]],
    measured: int,
    output: Path | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Cost:
    """Run `commands` as a pipeline, in this folder; the last one's output goes to a file, or
    nowhere."""
    task = {
        "commands": [list(map(str, command)) for command in commands],
        "measured": measured,
        "output": str(output) if output else os.devnull,
    }
    runner = subprocess.Popen(
        [sys.executable, "-S", __file__, json.dumps(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        cwd=folder,
        text=True,
        start_new_session=True,
    )
    try:
        shown, errors = runner.communicate(timeout=LONGEST)
    except BaseException as error:
        os.killpg(runner.pid, signal.SIGKILL)
        runner.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"{Path(commands[measured][0]).name} took over {LONGEST} s") from None
        raise
    if runner.returncode:
        raise Failed(errors.strip().rpartition("\n")[2])
    found: dict[str, Any] = json.loads(shown)
    return Cost(**found)


def _run(task: dict[str, Any]) -> dict[str, float]:
    """Seconds are counted to the end of the last command."""
    running: list[subprocess.Popen[bytes]] = []
    before: IO[bytes] | int = subprocess.DEVNULL
    with Path(task["output"]).open("wb") as output, tempfile.TemporaryFile() as log:
        begun = time.perf_counter()
        for number, command in enumerate(task["commands"]):
            is_last = number + 1 == len(task["commands"])
            process = subprocess.Popen(
                command, stdin=before, stdout=output if is_last else subprocess.PIPE, stderr=log
            )
            if not isinstance(before, int):
                before.close()
            running.append(process)
            before = process.stdout or subprocess.DEVNULL
        measured = running[task["measured"]]
        _, status, usage = os.wait4(measured.pid, 0)
        measured.returncode = os.waitstatus_to_exitcode(status)
        codes = [process.wait() for process in running]
        wall = time.perf_counter() - begun
        if any(codes):
            log.seek(0)
            last = log.read().strip().rpartition(b"\n")[2].decode("utf-8", "replace")
            sys.exit(f"exit codes {codes}: {last}")
    kilobytes = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss // 1024
    return {
        "wall": wall,
        "processor": usage.ru_utime + usage.ru_stime,
        "user": usage.ru_utime,
        "peak_bytes": 1024 * kilobytes,
    }


if __name__ == "__main__":
    json.dump(_run(json.loads(sys.argv[1])), sys.stdout)
