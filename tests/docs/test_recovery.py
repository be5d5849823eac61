"""docs/operations/recovery.md leaves out no finding and no error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from singerlake import check, errors, open_lake, rebuild
from singerlake.format.keys import StreamKeys
from singerlake.lake import vacuum
from singerlake.lake.vacuum import VacuumOptions
from tests.docs.test_spec_examples import rows

PAGE = (Path(__file__).parents[2] / "docs" / "operations" / "recovery.md").read_text("utf-8")
GROUPS = {"SingerlakeError", "ConfigError", "InputError", "DamageError", "BusyError", "StoreError"}


def table(name: str) -> list[list[str]]:
    _, found, rest = PAGE.partition(f"<!-- {name} -->\n\n")
    assert found
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_every_finding_has_its_line() -> None:
    told = [(re.sub("`", "", row[0]), row[1]) for row in table("codes")]
    # The spec's table is held to the code by test_spec_examples.
    assert told == [(row[0], row[1]) for row in rows("findings")]
    assert all(row[2] and row[3] for row in table("codes"))


def test_what_check_mends_is_said_to_be_mended() -> None:
    fixable = {row[0] for row in rows("findings") if row[2].startswith("yes")}
    for row in table("codes"):
        code = row[0].strip("`")
        if row[3] not in ("the same",):
            assert (code in fixable) <= ("check --fix" in row[3]), code


def test_every_error_has_its_line() -> None:
    told = {name for row in table("errors") for name in re.findall(r"`(\w+)`", row[0])}
    known = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.SingerlakeError)
    }
    assert told == known - GROUPS


# The repairs that the page describes, as it describes them.

KEYS = StreamKeys("tap-shop--sample", "orders")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A stream of four files of one record each."""
    lake = open_lake(tmp_path / "lake", create=True)
    for number in range(4):
        with lake.writer(KEYS.tap_id) as writer:
            writer.write(b'{"type":"SCHEMA","stream":"orders","schema":{"type":"object"}}')
            writer.write(
                b'{"type":"RECORD","stream":"orders","record":{"id":%d},'
                b'"time_extracted":"2026-11-16T00:00:0%dZ"}' % (number, number)
            )
            writer.commit()
    return tmp_path / "lake"


def codes(root: Path) -> set[str]:
    return {finding.code for finding in check(open_lake(root).store).findings}


def ids(root: Path) -> list[int]:
    snapshot = open_lake(root).stream(KEYS.tap_id, KEYS.stream).snapshot()
    return [record["id"] for record in snapshot.records()]


def number_anew(root: Path) -> list[str]:
    (root / KEYS.manifest).rename(root.parent / "kept.json")
    (root / KEYS.manifest_copy).unlink(missing_ok=True)
    return rebuild(open_lake(root).store, KEYS.tap_id, KEYS.stream).renumbered


@pytest.mark.parametrize(
    ("code", "rows_of"),
    [
        ("sequence-gap", lambda rows: rows[:1] + rows[2:]),
        ("sequence-order", lambda rows: rows[::-1]),
    ],
)
def test_numbering_anew(root: Path, code: str, rows_of: Any) -> None:
    manifest = json.loads((root / KEYS.manifest).read_text("utf-8"))
    manifest["files"] = rows_of(manifest["files"])
    manifest["last_sequence"] = max(row["sequence"] for row in manifest["files"])
    (root / KEYS.manifest).write_text(json.dumps(manifest), "utf-8")
    assert code in codes(root)
    rebuild(open_lake(root).store)
    assert code in codes(root), "the page says that a rebuild alone does not help"
    assert number_anew(root) == [KEYS.folder]
    assert not codes(root)
    assert ids(root) == [0, 1, 2, 3]


def test_taking_a_broken_file_out(root: Path) -> None:
    broken = sorted((root / KEYS.folder).glob("*/*.gz"))[1]
    broken.write_bytes(broken.read_bytes()[:-10])
    assert codes(root) == {"file-corrupt"}
    broken.rename(root.parent / broken.name)
    assert rebuild(open_lake(root).store, KEYS.tap_id, KEYS.stream).gone
    assert not codes(root)
    assert ids(root) == [0, 2, 3]


def test_a_lost_merge_document(root: Path) -> None:
    vacuum.vacuum(open_lake(root).store, KEYS, VacuumOptions())
    for document in (root / KEYS.folder / "_merges").iterdir():
        document.unlink()
    findings = check(open_lake(root).store).findings
    assert {finding.code for finding in findings} == {"merge-wrong", "orphan-file"}
    for finding in findings:
        if finding.code == "orphan-file":
            (root / finding.key).unlink()
    number_anew(root)
    assert not codes(root)
    assert ids(root) == [0, 1, 2, 3]
