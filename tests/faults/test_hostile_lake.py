"""A lake written by an enemy: every reader ends with one of our errors, or reads what is ours.

Nothing outside the lake's folder is read, listed, written or removed.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.errors import SingerlakeError
from singerlake.format import keys as key_names
from singerlake.lake import log
from singerlake.site.build import build as build_site
from singerlake.store import LocalStore
from tests.cli.lake import run as command
from tests.faults.hostile_readers import by_spark, by_tap
from tests.faults.hostile_watch import watching
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.lake.landing import KEYS, STREAM, TAP, edit, land, record_line, schema_line, singer_file

CANARY = "CANARY-IN-ANOTHERS-FOLDER"
SUITE = "A lake by an enemy"
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


# The readers.


def on_the_command_line(*arguments: str) -> Callable[[Path], str]:
    def read(root: Path) -> str:
        name, *rest = arguments
        result = command(*name.split(), root, *rest)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert all(line.isprintable() for line in result.output.splitlines())
        return str(result.output)

    return read


def built_as_a_site(root: Path) -> str:
    folder = root.parent / "site"
    build_site(open_lake(root), folder)
    return "".join(path.read_text("utf-8") for path in folder.rglob("*.html"))


READERS: dict[str, Callable[[Path], object]] = {
    "ls": on_the_command_line("ls"),
    "show": on_the_command_line("show", TAP, STREAM),
    "cat": on_the_command_line("cat", TAP, STREAM),
    "diff": on_the_command_line("diff", TAP, STREAM),
    "log": on_the_command_line("log"),
    "du": on_the_command_line("du"),
    "check": on_the_command_line("check", "--stale-after", "0"),
    "rebuild": on_the_command_line("rebuild"),
    "vacuum": on_the_command_line("vacuum"),
    "vacuum --purge": on_the_command_line("vacuum", "--purge", "--grace", "0"),
    "the tap": lambda root: by_tap(str(root)),
    "Spark": lambda root: by_spark(str(root)),
    "the site": built_as_a_site,
}
CHANGERS: dict[str, Callable[[Path], object]] = {
    "vacuum --apply": on_the_command_line("vacuum", "--apply", "--here"),
    "vacuum --purge --apply": on_the_command_line("vacuum", "--purge", "--apply", "--grace", "0"),
    "check --fix": on_the_command_line("check", "--fix", "--stale-after", "0"),
    "the target": lambda root: land(LocalStore(root), [90]),
    "rebuild --apply": on_the_command_line("rebuild", "--apply"),
}


# What the enemy writes.

Attack = Callable[[Path, Path], None]
"""Given the lake's folder, and one beside it that is none of the lake's business."""

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


SHARE = tuple(ELSEWHERE[name] for name in ("up", "absolute", "a NUL", "its own manifest"))

PLACES = (
    in_a_file_row,
    in_a_version,
    in_a_segment_row,
    in_a_merge_row,
    in_a_merge_document,
)


@pytest.fixture
def grounds(tmp_path: Path) -> tuple[Path, Path]:
    """A lake of two files, and another's folder, with what the enemy is after."""
    root, outside = tmp_path / "lake", tmp_path / "outside"
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


def withstood(root: Path, outside: Path, readers: dict[str, Callable[[Path], object]]) -> int:
    """Have each reader read; returns how many did."""
    before = contents(outside)
    for name, read in readers.items():
        with watching(outside) as seen:
            try:
                output = read(root)
            except SingerlakeError as error:
                output = str(error)
                assert output, name
        assert not seen, name
        assert CANARY not in str(output), name
    assert contents(outside) == before
    return len(readers)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_path_in_a_document_leads_outside(
    grounds: tuple[Path, Path], place: Callable[[Path, str], None], tmp_path: Path
) -> None:
    root, outside = grounds
    row = Line(SUITE, f"a path that leads outside, {place.__name__.replace('_', ' ')}", test_file())
    for number, make in enumerate(scaled(SHARE, tuple(ELSEWHERE.values()))):
        copy = tmp_path / f"copy-{number}" / "lake"
        shutil.copytree(root, copy)
        shutil.copytree(outside, copy.parent / "outside")
        place(copy, make(copy.parent / "outside" / LEAF))
        row.runs += withstood(copy, copy.parent / "outside", {**READERS, **CHANGERS})
        row.faults += 1
    row.keep()


def test_file() -> str:
    return f"{__name__.replace('.', '/')}.py"


test_file.__test__ = False  # type: ignore[attr-defined]


# Links.


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


LINKS = (
    a_file,
    a_manifest,
    a_catalogue,
    a_lake_document,
    a_schema_folder,
    a_stream,
    a_tap,
    everything,
    the_stores_own_folder,
    circles,
    pipes,
)


@pytest.mark.parametrize("attack", LINKS, ids=lambda attack: attack.__name__)
def test_no_link_in_a_folder_leads_outside(grounds: tuple[Path, Path], attack: Attack) -> None:
    root, outside = grounds
    attack(root, outside)
    row = Line(SUITE, f"a link in place of {attack.__name__.replace('_', ' ')}", test_file())
    row.runs = withstood(root, outside, {**READERS, **CHANGERS})
    row.faults = 1
    row.keep()


def test_control_a_store_that_follows_links_is_seen(
    grounds: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = grounds
    a_file(root, outside)
    monkeypatch.setattr(LocalStore, "open", lambda self, key, size=None: (root / key).open("rb"))
    with pytest.raises(AssertionError):
        withstood(root, outside, READERS)


# Documents that grow when they are read.


def test_segments_that_name_each_other_are_not_read_without_end(
    grounds: tuple[Path, Path],
) -> None:
    """Eight objects of a few kilobytes, which would be 50 to the seventh power of reads."""
    root, outside = grounds
    store = LocalStore(root)
    rows: list[dict[str, Any]] = []
    for level in range(1, 9):
        body = {"format": "singerlake.segment", "format_version": 1, "segments": rows}
        data = json.dumps(body).encode()
        path = key_names.segment_path(level, 1, 1, "0badcafe")
        store.create(KEYS.under(path), data)
        rows = [segment_row(path, level=level, checksum=log.checksum(data))] * 50
    manifest(root, lambda body: body.update(segments=rows[:1]))
    row = Line(SUITE, "segments that name each other", test_file())
    row.runs, row.faults = withstood(root, outside, {**READERS, **CHANGERS}), 1
    row.keep()


def test_segments_in_segments_without_end_are_refused(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    store = LocalStore(root)
    rows: list[dict[str, Any]] = []
    for level in range(1, 1200):
        body = {"format": "singerlake.segment", "format_version": 1, "segments": rows}
        data = json.dumps(body).encode()
        path = key_names.segment_path(level, 1, 1, "0badcafe")
        store.create(KEYS.under(path), data)
        rows = [segment_row(path, level=level, checksum=log.checksum(data))]
    manifest(root, lambda body: body.update(segments=rows))
    row = Line(SUITE, "segments a thousand levels deep", test_file())
    row.runs, row.faults = withstood(root, outside, READERS), 1
    row.keep()


def test_what_nests_deeply_is_refused_by_every_reader(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    a_deep_schema(root)
    row = Line(SUITE, "a deep schema, catalogue and lake document", test_file())
    row.runs, row.faults = withstood(root, outside, {**READERS, **CHANGERS}), 1
    row.keep()


def test_one_bad_row_does_not_hide_the_rest_from_a_check(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    in_a_file_row(root, ELSEWHERE["up"](outside / LEAF))
    findings = json.loads(command("check", root, "--json").stdout)["findings"]
    assert "name-wrong" in {one["code"] for one in findings}
    assert "orphan-file" in {one["code"] for one in findings}


# What is small in the store and large in memory, or large in both.


def bomb(piece: bytes, times: int) -> bytes:
    """A gzip file of the stream's SCHEMA line and so many pieces: a thousandth of that in size."""
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(schema_line() + b"\n")]
    parts += [squeeze.compress(piece) for _ in range(times)]
    return b"".join(parts) + squeeze.flush()


def put_bomb(root: Path, data: bytes, raw_bytes: int) -> None:
    """In place of the first file, with a row that tells all of it rightly but its content."""
    (file, *_) = sorted((root / KEYS.folder).rglob("*.singer.gz"))
    file.write_bytes(data)
    row = {"bytes": len(data), "checksum": log.checksum(data), "raw_bytes": raw_bytes}
    manifest(root, lambda body: body["files"][0].update(row))


def a_line_of_gigabytes(root: Path) -> None:
    put_bomb(root, bomb(b"x" * MEGABYTE, 2048), 2048 * MEGABYTE)


def a_string_of_gigabytes(root: Path) -> None:
    data = bomb(b'{"type":"RECORD","stream":"orders","record":{"id":"' + b"x" * MEGABYTE, 2048)
    put_bomb(root, data, 1 << 40)


def gigabytes_of_blank_lines(root: Path) -> None:
    put_bomb(root, bomb(b"\n" * MEGABYTE, 2048), 1 << 40)


def more_than_its_row_says(root: Path) -> None:
    line = b'{"type":"RECORD","stream":"orders","record":{"id":1}}\n'
    put_bomb(root, bomb(line * 20_000, 1000), 4000)


def deep_json(root: Path) -> None:
    """A hundred thousand levels, in every place that holds JSON."""
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    record = b'{"type":"RECORD","stream":"orders","record":%s}\n' % deep
    put_bomb(root, singer_file([schema_line(), record.strip()]), 1 << 40)
    for key in (key_names.LAKE_DOCUMENT, key_names.catalogue(TAP)):
        data = (root / key).read_bytes()
        (root / key).write_bytes(data.replace(b"{", b'{"x":%s,' % deep, 1))


def a_deep_schema(root: Path) -> None:
    """Deep, and yet within what Python's json reads."""
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    message = {"type": "SCHEMA", "stream": STREAM, "schema": deep, "key_properties": []}
    data = singer_file([json.dumps(message).encode(), record_line(1)])
    put_bomb(root, data, 1 << 40)
    store = LocalStore(root)
    edit(store, key_names.catalogue(TAP), lambda body: body["streams"][0].update(schema=deep))
    edit(store, key_names.LAKE_DOCUMENT, lambda body: body["taps"][TAP].update(tags=deep))


def a_line_of_100_megabytes(root: Path) -> None:
    text = b"x" * 100_000_000
    with open_lake(root).writer(TAP) as writer:
        writer.write(schema_line())
        writer.write(record_line(5).replace(b'"id": 5', b'"id": 5, "text": "%s"' % text))


def documents_of_gigabytes(root: Path) -> None:
    """Holes: they take no room on the disk."""
    for key in (KEYS.manifest, key_names.catalogue(TAP), key_names.LAKE_DOCUMENT):
        os.truncate(root / key, 8 << 30)


BOMBS: dict[Callable[[Path], None], int] = {
    a_line_of_gigabytes: 800,
    a_string_of_gigabytes: 800,
    gigabytes_of_blank_lines: 400,
    more_than_its_row_says: 400,
    deep_json: 400,
    a_line_of_100_megabytes: 1500,
    documents_of_gigabytes: 400,
}
"""With the megabytes that a process may hold; with all that is imported, it begins at 200."""

QUICK_BOMBS = ("check", "the tap", "Spark")
"""Those that read files; the others are left to the whole."""


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 1800))
@pytest.mark.parametrize(
    "make",
    scaled((a_line_of_gigabytes, deep_json, documents_of_gigabytes), tuple(BOMBS)),
    ids=lambda make: make.__name__,
)
def test_memory_is_bounded_whatever_a_lake_holds(
    grounds: tuple[Path, Path], make: Callable[[Path], None]
) -> None:
    root, _ = grounds
    make(root)
    row = Line(SUITE, make.__name__.replace("_", " "), test_file())
    worst = 0
    for name in scaled(QUICK_BOMBS, (*READERS, *CHANGERS)):
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.hostile_bombs", name, str(root)],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{name}: {done.stderr[-3000:]}"
        taken = int(done.stdout.split()[-1])
        worst = max(worst, taken)
        row.runs += 1
        assert taken < BOMBS[make], f"{name} took {taken} MB"
    row.faults, row.bounds = 1, f"at most {worst} MB of memory"
    row.keep()
