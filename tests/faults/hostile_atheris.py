"""Fuzzing guided by coverage, with atheris (extra `fuzz`): `make fuzz`, or for one target

    python -m tests.faults.hostile_atheris build/fuzz 60 "message lines"

gives it inputs for 60 seconds, and keeps those that reach new code in the folder. It ends with an
error, and the input in a file there, where one raises anything but our errors, takes more than 20
seconds, or 2 GB.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import atheris  # type: ignore[import-not-found, unused-ignore]

with atheris.instrument_imports(include=["singerlake.format", "json"]):
    from tests.faults import hostile_input


def main() -> None:
    folder, seconds, *names = sys.argv[1:]
    if names:
        fuzz(names[0], Path(folder), int(seconds))
        return
    for name in hostile_input.TARGETS:  # a process for each: atheris ends the one it runs in
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", "tests.faults.hostile_atheris", folder, seconds, name]
        if subprocess.run(command).returncode:
            sys.exit(1)


def fuzz(name: str, folder: Path, seconds: int) -> None:
    corpus = folder / name.replace(" ", "-")
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "example").write_bytes(hostile_input.examples()[name])
    target = hostile_input.TARGETS[name]
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-max_len=65536",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/found-",
        str(corpus),
    ]
    atheris.Setup(arguments, lambda data: hostile_input.outcome(target, bytes(data)) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
