"""Known vulnerabilities in what constraints.txt pins, from a clone of PyPA's advisory database.

    git clone https://github.com/pypa/advisory-database
    python .ci/audit.py advisory-database

For machines that reach a package index and no vulnerability service: a clone can be carried there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)


def main() -> None:
    folder = Path(sys.argv[1], "vulns")
    advisories: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        advisories.setdefault(canonicalize_name(path.parent.name), []).append(path)
    if not advisories:
        sys.exit(f"{folder}: no advisories; give a clone of pypa/advisory-database")
    pins = PIN.findall(CONSTRAINTS.read_text())
    found = [
        f"{name} {version}: {told['id']} {' '.join(told.get('aliases', []))}"
        for name, version in pins
        for told in map(read, advisories.get(canonicalize_name(name), []))
        if "withdrawn" not in told and is_affected(Version(version), told)
    ]
    print(*found, sep="\n", end="\n" * bool(found))
    newest = max(
        str(read(path)["modified"]) for paths in advisories.values() for path in paths[-1:]
    )
    print(f"{len(pins)} pins, {len(found)} with a known vulnerability, as of about {newest[:10]}")
    sys.exit(bool(found))


def read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text("utf-8")))


def is_affected(version: Version, advisory: dict[str, Any]) -> bool:
    return any(
        first <= version and (fixed is None or version < fixed)
        for package in advisory.get("affected", [])
        for span in package.get("ranges", [])
        if span["type"] == "ECOSYSTEM"
        for first, fixed in spans(span["events"])
    )


def spans(events: list[dict[str, str]]) -> Iterator[tuple[Version, Version | None]]:
    """From where a vulnerability was introduced to where it was fixed, if it was."""
    first: Version | None = None
    for event in events:
        if "introduced" in event:
            first = Version(event["introduced"] if event["introduced"] != "0" else "0.dev0")
        elif "fixed" in event and first is not None:
            yield first, Version(event["fixed"])
            first = None
    if first is not None:
        yield first, None


if __name__ == "__main__":
    main()
