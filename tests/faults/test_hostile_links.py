"""A lake whose files and folders are links to somebody else's, on a local disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from singerlake.format import keys as key_names
from singerlake.store import LocalStore
from tests.faults.hostile_enemy import CHANGERS, FILES, LEAF, READERS, SUITE, withstood
from tests.faults.result import Line
from tests.faults.truth import Violation
from tests.lake.landing import KEYS, TAP

THIS = "tests/faults/test_hostile_links.py"

Attack = Callable[[Path, Path], None]
"""Given the lake's folder, and one beside it that is none of the lake's business."""


def a_file(root: Path, outside: Path) -> None:
    (file, *_) = sorted((root / KEYS.folder).rglob("*.singer.gz"))
    replace_by_link(file, outside / LEAF)


def a_manifest(root: Path, outside: Path) -> None:
    replace_by_link(root / KEYS.manifest, outside / "manifest.json")


def a_catalogue(root: Path, outside: Path) -> None:
    replace_by_link(root / key_names.catalogue(TAP), outside / "catalogue.json")


def a_lake_document(root: Path, outside: Path) -> None:
    replace_by_link(root / key_names.LAKE_DOCUMENT, outside / "singerlake.json")


def a_schema_folder(root: Path, outside: Path) -> None:
    (file, *_) = sorted((root / KEYS.folder).rglob("*.singer.gz"))
    replace_by_link(file.parent, outside)


def a_stream(root: Path, outside: Path) -> None:
    replace_by_link(root / KEYS.folder, outside)


def a_tap(root: Path, outside: Path) -> None:
    replace_by_link(root / key_names.tap_folder(TAP), outside)


def everything(root: Path, outside: Path) -> None:
    replace_by_link(root / "raw", outside)


def the_stores_own_folder(root: Path, outside: Path) -> None:
    replace_by_link(root / ".singerlake-tmp", outside)


def circles(root: Path, outside: Path) -> None:
    for name in ("one", "two", "three"):
        (root / KEYS.folder / name).symlink_to(root / "raw")


def pipes(root: Path, outside: Path) -> None:
    """Whoever opens one waits for ever."""
    (file, *_) = sorted((root / KEYS.folder).rglob("*.singer.gz"))
    for path in (file, root / key_names.catalogue(TAP), root / key_names.LAKE_DOCUMENT):
        path.unlink()
        os.mkfifo(path)


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)


@dataclass(frozen=True)
class Expected:
    """Who has to refuse it; and whether the records are gone, with all that told of them."""

    refusing: frozenset[str] = frozenset()
    gone: bool = False


LINKS = {
    a_file: Expected(FILES),
    a_manifest: Expected(frozenset({"check"})),
    a_catalogue: Expected(frozenset({"check"})),
    a_lake_document: Expected(frozenset({"check"})),
    a_schema_folder: Expected(FILES),
    a_stream: Expected(gone=True),
    a_tap: Expected(frozenset({"cat", "Spark"}), gone=True),
    everything: Expected(FILES, gone=True),
    the_stores_own_folder: Expected(),
    circles: Expected(),
    pipes: Expected(FILES),
}


@pytest.mark.parametrize("attack", LINKS, ids=lambda attack: attack.__name__)
def test_no_link_in_a_folder_leads_outside(grounds: tuple[Path, Path], attack: Attack) -> None:
    root, outside = grounds
    attack(root, outside)
    row = Line(SUITE, f"a link in place of {attack.__name__.replace('_', ' ')}", THIS, faults=1)
    expected = LINKS[attack]
    readers = {**READERS, **CHANGERS}
    row.runs = withstood(root, outside, readers, expected.refusing, expected.gone)
    row.keep()


def test_control_a_store_that_follows_links_is_seen(
    grounds: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = grounds
    a_file(root, outside)
    monkeypatch.setattr(LocalStore, "open", lambda self, key, size=None: (root / key).open("rb"))
    row = Line(SUITE, "control: a store that follows links", f"{THIS} -k control", runs=1)
    try:
        withstood(root, outside, READERS)
    except Violation as violation:
        row.control(violation.kind == "TOUCHED", violation)
    else:
        row.control(seen=False)
