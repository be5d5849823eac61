"""Memory stays bounded: rows are decoded while DuckDB reads them, and printed while they come."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.lakes import land, record_line, schema_line

MEASURED = """
import resource, sys
from singerlake.cli import main
try:
    main(["sql", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code, end.code
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak // (1024 if sys.platform == "linux" else 1024 * 1024), file=sys.stderr)
"""
RECORDS = 300_000
"""About 170 MB of lines."""


def lines(count: int) -> Iterator[bytes]:
    yield schema_line({"id": {"type": "integer"}, "note": {"type": "string"}})
    for number in range(count):
        yield record_line({"id": number, "note": f"{number:0500}"})


def megabytes(root: Path, query: str) -> int:
    """The most memory that a query takes which prints every row."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(root), query, "--format", "csv"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(run.stderr)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs getrusage")
def test_a_large_stream_takes_little_more_memory_than_a_small_one(tmp_path: Path) -> None:
    land(tmp_path / "small", lines(1000))
    land(tmp_path / "large", lines(RECORDS))
    least = megabytes(tmp_path / "small", "from things")
    assert megabytes(tmp_path / "large", "from things") < least + 80
    assert megabytes(tmp_path / "large", "select count(note) from things") < least + 80
