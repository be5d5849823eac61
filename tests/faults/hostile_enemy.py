"""A lake that an enemy writes, who reads it and looks after it, and what may come of that.

Every reader ends with one of our errors, or gives all that is ours; nothing outside the lake's
folder is read, listed, written or removed, and no connection is opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from singerlake import open_lake
from singerlake.cli.main import CODES
from singerlake.errors import SingerlakeError
from singerlake.format import keys as key_names
from singerlake.lake import log
from singerlake.site.build import build as build_site
from singerlake.store import LocalStore
from tests.cli.lake import run as command
from tests.faults.hostile_readers import Found, by_spark, by_tap
from tests.faults.hostile_watch import watching
from tests.faults.truth import Violation
from tests.lake.landing import KEYS, STREAM, TAP, edit, land, record_line, schema_line, singer_file

CANARY = "CANARY-IN-ANOTHERS-FOLDER"
SUITE = "A lake by an enemy"
WORST = max(code for _, code in CODES)
"""The exit codes above are for what is no error of ours."""


def on_the_command_line(*arguments: str) -> Callable[[Path], str]:
    def read(root: Path) -> str:
        name, *rest = arguments
        result = command(*name.split(), root, *rest)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert all(line.isprintable() for line in result.output.splitlines())
        assert result.exit_code <= WORST, result.output
        if result.exit_code:
            raise Found(result.output)
        return str(result.output)

    return read


def built_as_a_site(root: Path) -> str:
    folder = root.parent / "site"
    build_site(open_lake(root), folder)
    return "".join(path.read_text("utf-8") for path in folder.rglob("*.html"))


Readers = Mapping[str, Callable[[Path], object]]

READERS: Readers = {
    "ls": on_the_command_line("ls"),
    "show": on_the_command_line("show", TAP, STREAM),
    "cat": on_the_command_line("cat", TAP, STREAM),
    "diff": on_the_command_line("diff", TAP, STREAM),
    "log": on_the_command_line("log"),
    "du": on_the_command_line("du"),
    "check": on_the_command_line("check", "--stale-after", "0"),
    "rebuild": on_the_command_line("rebuild"),
    "restore": on_the_command_line("restore"),
    "vacuum": on_the_command_line("vacuum"),
    "vacuum --purge": on_the_command_line("vacuum", "--purge", "--grace", "0"),
    "the tap": lambda root: by_tap(str(root)),
    "Spark": lambda root: by_spark(str(root)),
    "the site": built_as_a_site,
}
CHANGERS: Readers = {
    "vacuum --apply": on_the_command_line("vacuum", "--apply", "--here"),
    "vacuum --purge --apply": on_the_command_line("vacuum", "--purge", "--apply", "--grace", "0"),
    "check --fix": on_the_command_line("check", "--fix", "--stale-after", "0"),
    "the target": lambda root: land(LocalStore(root), [90]),
    "rebuild --apply": on_the_command_line("rebuild", "--apply"),
    "restore --apply": on_the_command_line("restore", "--apply"),
}
RECORDS = frozenset({"cat", "the tap", "Spark"})
"""Those that give records: all, or an error."""

FILES = RECORDS | {"check"}


# What the enemy writes.

LEAF = "orders-20260101T000000.000000Z-20260101T000000.000000Z.singer.gz"

ELSEWHERE: dict[str, Callable[[Path], str]] = {
    "up": lambda file: f"../../../../{file.parent.name}/{file.name}",
    "up from a folder": lambda file: f"StxYGwZ/../../../../../{file.parent.name}/{file.name}",
    "absolute": str,
    "a file URL": lambda file: file.as_uri(),
    "another bucket": lambda file: f"s3://other/{file.name}",
    "a web server": lambda file: f"http://127.0.0.1:9/{file.name}",
    "encoded": lambda file: f"%2e%2e/%2e%2e/%2e%2e/%2e%2e/{file.parent.name}/{file.name}",
    "escaped": lambda file: f"!2E!2E/!2E!2E/!2E!2E/!2E!2E/{file.parent.name}/{file.name}",
    "backslashes": lambda file: f"..\\..\\..\\..\\{file.parent.name}\\{file.name}",
    "a NUL": lambda file: f"../../../../{file.parent.name}/x\0/{file.name}",
    "a line feed": lambda file: f"x\n/{file.name}",
    "a terminal escape": lambda file: f"\x1b]0;owned\x07/{file.name}",
    "a home": lambda file: f"~/{file.name}",
    "another stream": lambda file: f"../others/{file.name}",
    "its own manifest": lambda file: "manifest.json",
    "nothing": lambda file: "",
}
"""Paths that a document may give, and that lead, or try to lead, out of the stream's folder."""


def manifest(root: Path, change: Callable[[Any], object]) -> None:
    edit(LocalStore(root), KEYS.manifest, change)


def in_a_file_row(root: Path, path: str) -> None:
    manifest(root, lambda body: body["files"][0].update(path=path))


def in_a_version(root: Path, path: str) -> None:
    (root / key_names.catalogue(TAP)).unlink()
    manifest(root, lambda body: [one.update(path=path) for one in body["versions"].values()])


def in_a_segment_row(root: Path, path: str) -> None:
    def change(body: Any) -> None:
        body["segments"] = [segment_row(path)]

    manifest(root, change)


def segment_row(path: str, **others: Any) -> dict[str, Any]:
    row = {
        "path": path,
        "level": 1,
        "first_sequence": 1,
        "last_sequence": 1,
        "files": 1,
        "records": 1,
        "bytes": 1,
        "first": "2026-01-01T00:00:00Z",
        "last": "2026-01-01T00:00:00Z",
        "checksum": log.checksum(b""),
    }
    return {**row, **others}


def in_a_merge_row(root: Path, path: str) -> None:
    reference = {"path": path, "checksum": log.checksum(b"")}
    manifest(root, lambda body: body["files"][-1].update(merge=reference, first_sequence=1))


def in_a_merge_document(root: Path, path: str) -> None:
    """What a purge would remove, and which file a rebuild would take for merged."""
    body = {
        "format": "singerlake.merge",
        "format_version": 1,
        "path": path,
        "parts": [],
        "retired": [{"path": path}, {"path": path, "checksum": log.checksum(b"")}],
    }
    data = json.dumps(body).encode()
    name = "_merges/000000000001-000000000002-0badcafe.json"
    LocalStore(root).create(KEYS.under(name), data)
    reference = {"path": name, "checksum": log.checksum(data)}
    manifest(root, lambda told: told["files"][0].update(merge=reference))


def grounds(folder: Path) -> tuple[Path, Path]:
    """A lake of two files, and another's folder, with what the enemy is after."""
    root, outside = folder / "lake", folder / "outside"
    land(LocalStore(root), [1])
    land(LocalStore(root), [2])
    land(LocalStore(root), [3], stream="others")
    secret = record_line(0).replace(b'"id": 0', b'"id": 0, "secret": "%s"' % CANARY.encode())
    outside.mkdir()
    (outside / LEAF).write_bytes(singer_file([schema_line(), secret]))
    (outside / "catalogue.json").write_bytes((root / key_names.catalogue(TAP)).read_bytes())
    (outside / "manifest.json").write_bytes((root / KEYS.manifest).read_bytes())
    (outside / "singerlake.json").write_text(
        (root / key_names.LAKE_DOCUMENT).read_text().replace('"owner": ""', f'"owner": "{CANARY}"')
    )
    return root, outside


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def withstood(
    root: Path,
    outside: Path,
    readers: Readers,
    refusing: Collection[str] = (),
    gone: bool = False,
) -> int:
    """Have each reader read; returns how many did. Raises `Violation`.

    Those that are `refusing` have to end with an error; the others may, or give all records:
    unless these are `gone`, with everything that told of them.
    """
    before = contents(outside)
    for name, read in readers.items():
        refused = False
        with watching(outside) as seen:
            try:
                output = str(read(root))
            except (SingerlakeError, Found) as error:
                output, refused = str(error), True
        if seen:
            raise Violation(f"TOUCHED by {name}: {sorted(seen)}")
        if CANARY in output:
            raise Violation(f"TOLD by {name}: {output}")
        if refused and not output:
            raise Violation(f"SILENT: {name} does not say why")
        if not refused and (
            name in refusing or (name in RECORDS and not gone and not all_of(output))
        ):
            raise Violation(f"SKIPPED by {name}: {output}")
    if contents(outside) != before:
        raise Violation("CHANGED what is outside")
    return len(readers)


def all_of(output: str) -> bool:
    """Whether the records of the stream are in what a reader gave, in its form."""
    return {"1", "2"} <= set(re.findall(r"\bid\\?['\"]: ?(\d+)", output))
