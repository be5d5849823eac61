"""Files that are gathered on the disk of a local lake: linked, and then nobody's but the lake's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from singerlake.format.origin import Origin
from singerlake.lake import check, open_on, scratch, spool
from singerlake.lake.naming import Content
from singerlake.lake.spool import Spool
from singerlake.store import Finished, LocalStore, Store, folder_trial
from singerlake.store.folder_trial import Kept
from tests.lake.faulty_store import Intercepting, Result
from tests.lake.landing import TAP, assert_clean, options, record_line, schema_line
from tests.lake.test_scratch import HOLD


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    monkeypatch.setattr(spool, "IN_MEMORY", 0)
    return LocalStore(tmp_path / "lake")


def land(store: Store) -> None:
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        writer.write(record_line(1))


def names(store: LocalStore, of: str) -> list[Path]:
    return [path for path in Path(store.url).rglob(of) if path.is_file()]


class Watching(Intercepting):
    """Counts the names that the new file has in all, whenever a manifest is replaced."""

    links: tuple[int, ...] = ()

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if method == "replace" and key.endswith("manifest.json"):
            (file,) = Path(self.url).rglob("*.singer.gz")
            self.links += (file.stat().st_nlink,)
        return call()


def test_no_other_name_is_left_when_the_manifest_names_the_file(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: list[Path] = []
    real = LocalStore.create

    def create(self: LocalStore, key: str, data: bytes | Path | Finished) -> str:
        version = real(self, key, data)
        if isinstance(data, Finished):
            linked.append(data.path)
            assert data.path.samefile(Path(store.url, key))
        return version

    monkeypatch.setattr(LocalStore, "create", create)
    watching = Watching(store)
    land(watching)
    assert len(linked) == 1
    assert watching.links == (1,)
    assert names(store, "singerlake-*/*") == []
    assert_clean(store)


def test_a_clash_of_names_leaves_the_file_alone_that_was_linked(tmp_path: Path) -> None:
    gathered = Spool(tmp_path / "1", 1, b"{}\n", Origin("w", "r", 1))
    gathered._spill()
    (tmp_path / "lake").hardlink_to(tmp_path / "1")
    before = (tmp_path / "lake").read_bytes()
    other = Content(tmp_path / "1", gathered.checksum, gathered.bytes).in_other_bytes()
    assert other.checksum != gathered.checksum
    assert (tmp_path / "lake").read_bytes() == before
    assert not (tmp_path / "lake").samefile(tmp_path / "1")


@pytest.mark.parametrize("reason", ["no links", "not writable", "asked for another"])
def test_otherwise_files_are_gathered_elsewhere_and_copied(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    asked = tmp_path / "asked"
    asked.mkdir()
    if reason == "no links":
        monkeypatch.setattr(folder_trial, "find", lambda folder: Kept(locks=True, links=False))
    elif reason == "not writable":
        monkeypatch.setattr(LocalStore, "spool_folder", lambda self: Path("/proc/nowhere"))
    folder = asked if reason == "asked for another" else None
    with open_on(store, create=True).writer(TAP, options=options(spool_folder=folder)) as writer:
        assert names(store, "singerlake-*/*") == []
        assert bool([*asked.iterdir()]) is (folder is not None)
        writer.write(schema_line())
        writer.write(record_line(1))
    assert_clean(store)


def test_a_fix_removes_what_a_killed_process_left_in_the_lake(store: LocalStore) -> None:
    land(store)
    hold = [sys.executable, "-c", HOLD, str(store.own_folder)]
    with subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as living:
        assert living.stdout is not None
        left = Path(os.fsdecode(living.stdout.readline().strip()))
        check(store, fix=True, times=options().lock)
        assert left.is_dir()
        living.kill()
    assert len(scratch.leftovers(store.own_folder)) == 1
    check(store, fix=True, times=options().lock)
    assert not left.exists()
