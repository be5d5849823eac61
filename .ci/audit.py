"""Known vulnerabilities in what constraints.txt pins, from a clone of PyPA's advisory database.

    git clone https://github.com/pypa/advisory-database
    python .ci/audit.py advisory-database

For machines that reach a package index and no vulnerability service: a clone can be carried there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

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
    """By the spans that are told, or by the list of versions; some advisories have only that.

    What stands in a list may be no version that packaging knows: it is then compared as text.
    Spans of GIT commits tell nothing of versions; where there is nothing else, the pin counts as
    affected, for somebody to look at.
    """
    return any(_is_affected(version, package) for package in advisory.get("affected", []))


def _is_affected(version: Version, package: dict[str, Any]) -> bool:
    listed = [str(each) for each in package.get("versions", [])]
    ranges = package.get("ranges", [])
    told = [span for span in ranges if span["type"] in ("ECOSYSTEM", "SEMVER")]
    if not listed and not told:
        return True
    return any(_same(version, each) for each in listed) or any(
        span.holds(version) for each in told for span in spans(each["events"])
    )


def _same(version: Version, text: str) -> bool:
    try:
        return version == Version(text)
    except InvalidVersion:
        return str(version) == text


@dataclass(frozen=True)
class Span:
    """From where a vulnerability was introduced to where it was fixed, or seen last, if it was."""

    first: Version
    fixed: Version | None = None
    last: Version | None = None

    def holds(self, version: Version) -> bool:
        if version < self.first:
            return False
        if self.fixed is not None:
            return version < self.fixed
        return self.last is None or version <= self.last


def spans(events: list[dict[str, str]]) -> Iterator[Span]:
    first: Version | None = None
    for event in events:
        if "introduced" in event:
            first = Version(event["introduced"] if event["introduced"] != "0" else "0.dev0")
        elif first is not None and "fixed" in event:
            yield Span(first, fixed=Version(event["fixed"]))
            first = None
        elif first is not None and "last_affected" in event:
            yield Span(first, last=Version(event["last_affected"]))
            first = None
    if first is not None:
        yield Span(first)


if __name__ == "__main__":
    main()
