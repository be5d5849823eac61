"""Pages whose commands are run: files from titled blocks, commands from console blocks, in order.

A line of a console block that begins with `$ ` is a command; what follows is its output. `…` stands
for anything within a line, and alone on a line for any lines. White space counts once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class File:
    """A file that the reader is told to save."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command and the output that the page shows."""

    text: str
    output: str


def steps(page: str) -> Iterator[File | Command]:
    for match in _BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        language, title, text = match.groups()
        if title:
            yield File(title, text)
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield Command(command, output)


def run(page: str, folder: Path, **environment: str) -> None:
    """Follow the page in an empty folder, as a reader would."""
    scripts = sysconfig.get_path("scripts")
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": path, "LOGLEVEL": "WARNING", "COLUMNS": "200", **environment}
    for step in steps(page):
        if isinstance(step, File):
            (folder / step.name).write_text(step.text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-c", step.text],
            cwd=folder,
            env=settings,
            capture_output=True,
            text=True,
        )
        assert matches(step.output, done.stdout), (
            f"{page}: $ {step.text}\n--- the page has\n{step.output}--- it prints\n{done.stdout}"
            f"--- and to stderr\n{done.stderr[-2000:]}"
        )


def matches(shown: str, printed: str) -> bool:
    pattern = "".join(
        r"(.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
        for line in _lines(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    found = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in found if line]
