"""Files that a tap has staged: stored where they may be, and never from elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import BadFile, ConfigError
from singerlake.lake.blobs.reference import files_of
from singerlake.lake.vacuum import VacuumOptions, vacuum
from target_singerlake.staged import stage
from tests.target.driving import PATHS, TAP_ID, lake, land, record, run, schema, state

pytestmark = pytest.mark.usefixtures("door")

MARKED = {"photo": {"type": ["null", "string"], "x-singerlake-file": True}}


def staged_in(folder: Path, name: str = "a.jpg", content: bytes = b"a photo") -> Path:
    path = folder / "staged" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def references(root: Path, stream: str = "s") -> list[tuple[int, bytes]]:
    found = lake(root)
    snapshot = found.stream(TAP_ID, stream).snapshot()
    return [
        (one.record["id"], found.store.read(snapshot.keys.under(one.path)).data)
        for one in files_of(snapshot)
    ]


@pytest.mark.parametrize("path", PATHS)
def test_staged_files_are_stored_and_the_record_keeps_its_bytes(tmp_path: Path, path: str) -> None:
    one, two = staged_in(tmp_path), staged_in(tmp_path, "deep/er/b.jpg", b"another")
    root = tmp_path / "lake"
    lines = [
        schema("s", **MARKED),
        schema("plain"),
        record("s", 1, photo=str(one)),
        record("plain", 7),
        record("s", 2, photo=two.as_uri()),
        record("s", 3, photo=None),
        record("s", 4, photo=str(one)),
        state({"at": 1}),
    ]
    states = land(lines, root, staged_files=str(tmp_path / "staged"), **PATHS[path])
    assert states == [b'{"at": 1}']
    assert references(root) == [(1, b"a photo"), (2, b"another"), (4, b"a photo")]
    snapshot = lake(root).stream(TAP_ID, "s").snapshot()
    records = list(snapshot.records())
    assert [each["photo"] for each in records] == [str(one), two.as_uri(), None, str(one)]
    vacuum(lake(root).store, snapshot.keys, VacuumOptions())
    assert references(root) == [(1, b"a photo"), (2, b"another"), (4, b"a photo")]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_setting_the_mark_is_ignored_with_a_warning(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "lake"
    lines = [schema("s", **MARKED), record("s", 1, photo="/etc/passwd"), state({"at": 1})]
    assert land(lines, root, **PATHS[path]) == [b'{"at": 1}']
    assert references(root) == []
    assert not list(root.rglob("_files"))
    warnings = [each.getMessage() for each in caplog.records if "staged_files" in each.getMessage()]
    assert len(warnings) == 1
    assert "photo" in warnings[0]


@pytest.fixture
def border(tmp_path: Path) -> Path:
    """A folder of staged files, with things outside that links and paths point to."""
    staged_in(tmp_path)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret").write_bytes(b"secret")
    (tmp_path / "staged" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "staged" / "out").symlink_to(tmp_path / "folder")
    (tmp_path / "staged" / "loop").symlink_to(tmp_path / "staged" / "loop")
    (tmp_path / "staged-too").mkdir()
    (tmp_path / "staged-too" / "secret").write_bytes(b"secret")
    os.mkfifo(tmp_path / "staged" / "pipe")
    return tmp_path


OUTSIDE = [
    "/etc/passwd",
    "{0}/secret",
    "{0}/staged/../secret",
    "{0}/staged/link",
    "{0}/staged/out/secret",
    "{0}/staged/loop",
    "{0}/staged/pipe",
    "{0}/staged",
    "{0}/staged/",
    "{0}/staged-too/secret",
    "file://{0}/secret",
    "file://{0}/staged/%2e%2e/secret",
    "file://{0}/staged/..%2fsecret",
    "memory://secret",
    "https://127.0.0.1:1/secret",
    "staged/../secret",
    "",
    "\0",
    "{0}/staged/missing",
    "{0}/staged/a.jpg/b",
]


@pytest.mark.parametrize("value", OUTSIDE)
def test_nothing_leads_out_of_the_prefix(border: Path, value: str) -> None:
    opened = stage(str(border / "staged"))
    assert opened(str(border / "staged" / "a.jpg")).measured().size == 7
    with pytest.raises(BadFile):
        opened(value.format(border)).measured()


def test_a_link_that_comes_meanwhile_is_not_followed(border: Path) -> None:
    """The name is looked up anew for each read, folder by folder."""
    one = stage(str(border / "staged"))(str(border / "staged" / "a.jpg"))
    assert one.measured().size == 7
    (border / "staged" / "a.jpg").unlink()
    (border / "staged" / "a.jpg").symlink_to(border / "secret")
    with pytest.raises(BadFile, match="symbolic link"):
        one.measured()


def test_the_prefix_itself_may_be_reached_by_a_link(border: Path) -> None:
    (border / "short").symlink_to(border / "staged")
    opened = stage(str(border / "short"))
    for name in ("short", "staged"):
        assert opened(str(border / name / "a.jpg")).measured().size == 7
    with pytest.raises(BadFile):
        opened(str(border / "short" / "link")).measured()


def test_urls_below_a_prefix(tmp_path: Path) -> None:
    import fsspec

    files: Any = fsspec.filesystem("memory")
    files.pipe_file("/bucket/staged/a", b"remote")
    files.pipe_file("/bucket/secret", b"secret")
    opened = stage("memory://bucket/staged")
    assert opened("memory://bucket/staged/a").measured().size == 6
    for wrong in (
        "memory://bucket/secret",
        "memory://bucket/staged",
        "memory://bucket/staged/",
        "memory://bucket/staged/../secret",
        "memory://bucket/staged/%2e%2e/secret",
        "memory://bucket/staged/./a",
        "memory://bucket/staged/a::file:///etc/passwd",
        "memory://bucket/staged/missing",
        "file:///etc/passwd",
        "/etc/passwd",
    ):
        with pytest.raises(BadFile):
            opened(wrong).measured()


def test_a_prefix_that_is_not_there_is_a_setting_to_change(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a folder that is there"):
        stage(str(tmp_path / "nowhere"))


def test_a_missing_file_ends_the_run_and_nothing_of_it_is_acknowledged(tmp_path: Path) -> None:
    staged_in(tmp_path)
    root = tmp_path / "lake"
    lines = [
        schema("s", **MARKED),
        record("s", 1),
        state({"at": 1}),
        record("s", 2, photo=str(tmp_path / "staged" / "missing")),
        state({"at": 2}),
    ]
    outcome = run(lines, root, staged_files=str(tmp_path / "staged"))
    said = outcome.refused()
    assert "BadFile" in said
    assert "line 4 of the input" in said
    assert "missing" in said
    assert [json.loads(each) for each in outcome.states] == [{"at": 1}]
    assert [each["id"] for each in lake(root).stream(TAP_ID, "s").snapshot().records()] == [1]


def test_a_file_that_changes_while_it_is_landed_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from singerlake.lake.blobs.staged import Staged

    path = staged_in(tmp_path)
    root = tmp_path / "lake"
    measured = Staged.measured

    def then_changed(self: Staged) -> Any:
        found = measured(self)
        path.write_bytes(b"changed")
        return found

    monkeypatch.setattr(Staged, "measured", then_changed)
    lines = [schema("s", **MARKED), record("s", 1, photo=str(path)), state({"at": 1})]
    with pytest.raises(BadFile, match="it changed meanwhile"):
        land(lines, root, staged_files=str(tmp_path / "staged"))
    assert list(lake(root).stream(TAP_ID, "s").snapshot().files()) == []
    assert not list(root.rglob("_files"))
