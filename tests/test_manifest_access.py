"""Manifests are the lake's own: others read snapshots, increments and the feed.

Whoever reaches into a manifest changes with its format, and gives up what an increment checks.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("singerlake", "tap_singerlake", "target_singerlake")
AT_HOME = ("singerlake/lake/", "singerlake/format/")

ALLOWED = {
    "singerlake/cli/log.py": 2,
}
"""Accesses that are left, by file. This list may only shrink."""


def accesses(source: str) -> Iterator[int]:
    """The lines that reach into a manifest: its document, what decodes it, or the module of both.

    `keys.manifest` is the name of an object, and a row of the log (`File`) is a value of its own.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == "manifest":
            if _name(node.value) != "keys":
                yield node.lineno
        elif isinstance(node, ast.Import):
            yield from (node.lineno for each in node.names if each.name.endswith("format.manifest"))
        elif isinstance(node, ast.ImportFrom):
            names = {each.name for each in node.names}
            if node.module == "singerlake.format":
                yield from [node.lineno] * len(names & {"manifest"})
            elif node.module == "singerlake.format.manifest":
                yield from [node.lineno] * len(names & {"Manifest", "decode"})


def _name(node: ast.expr) -> str:
    """The last name of an expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def found() -> dict[str, list[int]]:
    lines = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(AT_HOME) and (there := list(accesses(path.read_text()))):
                lines[name] = there
    return lines


def test_nobody_else_reaches_into_a_manifest() -> None:
    there = found()
    counts = Counter({name: len(lines) for name, lines in there.items()})
    above = {name: there[name] for name in counts if counts[name] > ALLOWED.get(name, 0)}
    assert not above, "use a snapshot's own properties, an increment, or the feed"
    below = {name for name, most in ALLOWED.items() if counts[name] < most}
    assert not below, "shrink the list"


def test_what_counts_as_an_access() -> None:
    reaching = """
from singerlake.format import keys, manifest as manifests
from singerlake.format.manifest import File, Manifest, decode
import singerlake.format.manifest
snapshot.manifest.files
self.stream.snapshot().manifest
head.manifest
"""
    assert sorted(accesses(reaching)) == [2, 3, 3, 4, 5, 6, 7]
    innocent = """
from singerlake.format import keys
from singerlake.format.manifest import File, Totals
snapshot.keys.manifest
keys.manifest
manifest = snapshot.versions
"""
    assert list(accesses(innocent)) == []
