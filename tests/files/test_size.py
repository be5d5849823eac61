"""A large file in little memory, and many small ones; by `make faults` 5 GB and 10,000 of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from singerlake.files import entries
from singerlake.lake import open_lake
from singerlake.lake.blobs.reference import files_of
from tests.faults.result import Line
from tests.faults.scale import WHOLE, scaled
from tests.files.putting import STREAM, TAP, codes, photos
from tests.target.driving import TAP_ID, land, record, schema, state

SUITE = "Files"
LARGE = scaled(128 << 20, 5_000_000_000)
MANY = scaled(200, 10_000)
MEGABYTES = 200

MEASURED = """
import json, resource, sys
from singerlake.cli.main import main
try:
    main(sys.argv[1:])
finally:
    # Not ru_maxrss, which begins with that of the process that started this one.
    with open("/proc/self/status") as status:
        most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = {"megabytes": most // 1024, "seconds": used.ru_utime + used.ru_stime}
    print(json.dumps(told), file=sys.stderr)
"""


def measured(*arguments: object) -> dict[str, float]:
    """Run the command in a process of its own; returns what it took."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return told


def made_of(size: int, path: Path) -> None:
    block = os.urandom(1 << 20)
    with path.open("wb") as file:
        for number in range(size >> 20):
            file.write(number.to_bytes(8, "big") + block[8:])
        file.write(block[: size & (1 << 20) - 1])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_large_file_takes_little_memory_and_is_uploaded_once(tmp_path: Path) -> None:
    line = Line(SUITE, "a large file", "tests/files/test_size.py -k large")
    large, root = tmp_path / "large.bin", tmp_path / "lake"
    made_of(LARGE, large)
    where = ("--root", root, "--what", STREAM, "--where", TAP)
    began = time.monotonic()
    first = measured("put", large, *where)
    middle = time.monotonic()
    second = measured("put", large, *where)
    ended = time.monotonic()
    third = measured("get", root, TAP, STREAM, "--to", tmp_path / "back")
    deep = measured("check", root, "--deep")
    print(f"{LARGE} bytes: put {first}, {middle - began:.1f} s")
    print(f"again {second}, {ended - middle:.1f} s; get {third}; check --deep {deep}")
    assert max(one["megabytes"] for one in (first, second, third, deep)) < MEGABYTES
    blobs = [path for path in root.rglob("*") if path.is_file() and "_files" in path.parts]
    assert [path.stat().st_size for path in blobs] == [LARGE]
    assert len(entries(photos(open_lake(root)))) == 2
    subprocess.run(["cmp", large, tmp_path / "back"], check=True)
    with blobs[0].open("r+b") as file:
        file.seek(LARGE // 2)
        byte = file.read(1)
        file.seek(LARGE // 2)
        file.write(bytes([byte[0] ^ 1]))
    assert codes(open_lake(root), deep=True) == ["blob-checksum"]
    line.runs = 1
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_small_files_by_put_and_by_a_tap(tmp_path: Path) -> None:
    line = Line(SUITE, "many small files", "tests/files/test_size.py -k many")
    folder = tmp_path / "staged"
    folder.mkdir()
    files = [folder / f"{number}.txt" for number in range(MANY)]
    for number, path in enumerate(files):
        path.write_bytes(b"small file %d\n" % number)
    root = tmp_path / "lake"
    began = time.monotonic()
    used = measured("put", *files, "--root", root, "--what", STREAM, "--where", TAP)
    middle = time.monotonic()
    lake = open_lake(root)
    assert len(entries(photos(lake))) == MANY
    mark = {"file": {"type": "string", "x-singerlake-file": True}}
    lines = [schema("s", **mark)]
    lines += [record("s", number, file=str(path)) for number, path in enumerate(files)]
    landing = time.monotonic()
    land([*lines, state({"at": 1})], root, staged_files=str(folder))
    ended = time.monotonic()
    assert sum(1 for _ in files_of(lake.stream(TAP_ID, "s").snapshot())) == MANY
    assert codes(lake, deep=True) == []
    print(f"{MANY} files: put {used}, {middle - began:.1f} s; by a tap {ended - landing:.1f} s")
    if WHOLE:
        assert used["megabytes"] < MEGABYTES
    line.runs = 2 * MANY
    line.keep()
