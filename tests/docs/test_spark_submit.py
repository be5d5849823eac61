"""docs/spark.md, On a cluster: its `spark-submit` and its program, on a cluster of this machine.

The environment that is packed is a thin one, which finds its packages where the tests have theirs:
what pip and venv-pack make takes a minute and holds 130 MB. How it gets to the executors, and that
the driver finds it too, is the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

from singerlake import open_lake
from singerlake.projection import published_files
from tests.docs.runbook import DOCS
from tests.spark.cluster import run_cluster

PAGE = (DOCS / "spark.md").read_text(encoding="utf-8").split("\n### On a cluster\n")[1]
TAP = "tap-shop--sample"


def block(language: str) -> str:
    match = re.search(rf"^```{language}[^\n]*\n(.*?)^```$", PAGE, re.M | re.S)
    assert match
    return match[1]


def pack(folder: Path) -> None:
    """What the page's first commands make, in little: a folder, and its archive."""
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    ours = (sysconfig.get_path("purelib"), Path(__file__).parents[2])
    (packages / "tests.pth").write_text("".join(f"{path}\n" for path in ours))
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as archive:
        for path in environment.iterdir():
            archive.add(path, path.name)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_spark_submit_with_an_archive(tmp_path: Path) -> None:
    lake = open_lake(tmp_path / "lake", create=True)
    with lake.writer(TAP) as writer:
        writer.write(b'{"type":"SCHEMA","stream":"orders","schema":{"type":"object"}}')
        writer.write(b'{"type":"RECORD","stream":"orders","record":{"id":1}}')
        writer.commit()
    pack(tmp_path)
    (tmp_path / "tables.py").write_text(block("python"), encoding="utf-8")
    script = block("sh").split("\n\n")[1]
    assert script.startswith("export PYSPARK_PYTHON=./environment/")
    with run_cluster(tmp_path) as cluster:
        cluster.have_workers(1)
        for shown, real in {
            "spark://host:7077": cluster.url,
            "s3://bucket/lake": lake.store.url,
            "s3://bucket/tables": str(tmp_path / "tables"),
        }.items():
            assert shown in script
            script = script.replace(shown, real)
        path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**cluster.environment, "PATH": path},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "status='published'" in done.stdout
    assert len(published_files(tmp_path / "tables", TAP, "orders")) == 1
    # Spark unpacked it for its executor, which ran from there.
    assert list(tmp_path.glob("work/*/*/environment/bin/python"))
