"""A real receiver, Data.Rentgen from PyPI: its graph is what the manifests say, sent once or twice.

It needs Python 3.12 or later and a PostgreSQL. Its own parser, extractor and database take the
events; Kafka, which carries them in production, is left out. Skipped where its Python is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from singerlake.lake import open_lake
from tests.cli.lake import said
from tests.lineage.test_emit import landed
from tests.plugins.postgres import USER, Postgres, run_postgres
from tests.servers import HOST
from tests.target.driving import TAP_ID

PACKAGES = ("data-rentgen[consumer,server,postgres]==0.7.2",)
SUCCEEDED = 1
SCRIPT = Path(__file__).with_name("rentgen.py")


@cache
def rentgen() -> Path:
    """Its Python, in an environment that is made once for this machine."""
    folder = Path.home() / ".cache" / "singerlake-tests" / "data-rentgen-0.7.2"
    python, uv = folder / "bin" / "python", str(Path(sys.executable).with_name("uv"))
    if (folder / "ready").exists():
        return python
    base = next(filter(_runs, _candidates()), None)
    if base is None:
        pytest.skip("Data.Rentgen needs Python 3.12 or 3.13, and none is here")
    for step in (
        [uv, "venv", "--quiet", "--allow-existing", "--python", str(base), str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(python), *PACKAGES],
    ):
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"Data.Rentgen cannot be had here: {done.stderr.strip()[-200:]}")
    (folder / "ready").touch()
    return python


def _candidates() -> Iterator[Path]:
    for version in ("3.12", "3.13"):
        if found := shutil.which(f"python{version}"):
            yield Path(found)
        yield from Path.home().glob(f".pyenv/versions/{version}*/bin/python")
    if sys.version_info >= (3, 12):
        yield Path(sys.executable)


def _runs(python: Path) -> bool:
    """Some are only names: pyenv has one for each version that it does not use."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    rentgen()
    with run_postgres(decodes=False) as server:
        environment = {**os.environ, "DATA_RENTGEN__DATABASE__URL": url(server)}
        for module in (
            ["data_rentgen.db.migrations", "upgrade", "head"],
            ["data_rentgen.db.scripts.create_partitions"],
        ):
            subprocess.run(
                [rentgen(), "-m", *module], env=environment, check=True, capture_output=True
            )
        yield server


def url(server: Postgres) -> str:
    return f"postgresql+asyncpg://{USER}:unused@{HOST}:{server.port}/postgres"


def sent(server: Postgres, events: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """The graph after these events."""
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events if "run" in event))
    done = subprocess.run(
        [rentgen(), SCRIPT, url(server), path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    graph: dict[str, Any] = json.loads(done.stdout)
    return graph


@pytest.mark.slow
def test_its_graph_is_what_the_manifests_say(postgres: Postgres, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    events = landed(root)
    first = sent(postgres, events, tmp_path)
    lake = open_lake(root)
    commits = {
        (f"{TAP_ID}.land.{stream.name}", f"{root}/raw/{TAP_ID}/{stream.name}"): sum(
            1 for _ in stream.snapshot().files()
        )
        for stream in lake.tap(TAP_ID).streams()
    }
    outputs = [edge for edge in first["edges"] if edge["side"] == "output"]
    found: dict[tuple[str, str], set[str]] = {}
    for edge in outputs:
        if edge["job"] != f"{TAP_ID}.land":
            found.setdefault((edge["job"], edge["dataset"]), set()).add(edge["run"])
    assert {edge["status"] for edge in first["edges"]} == {SUCCEEDED}
    assert {pair: len(runs) for pair, runs in found.items()} == commits
    process = {edge["dataset"] for edge in outputs if edge["job"] == f"{TAP_ID}.land"}
    assert process == {dataset for _, dataset in commits}
    again = [json.loads(line) for line in said("lineage", "emit", root, "--to", "-").splitlines()]
    assert sent(postgres, [*events, *again], tmp_path) == first
