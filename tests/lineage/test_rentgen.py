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
from singerlake.lineage.emitter import emitter
from tests.cli.lake import said
from tests.lineage.receiver import receiving
from tests.lineage.test_emit import landed
from tests.plugins.postgres import USER, Postgres, run_postgres
from tests.servers import HOST
from tests.tap.replay import replay
from tests.target import driving
from tests.target.driving import TAP_ID
from tests.target.test_lineage import PATIENT
from tests.zygote import PATIENCE

PACKAGES = ("data-rentgen[consumer,server,postgres]==0.7.2",)
TAP = "tap-shop--sample"
SHOP = Path(__file__).parents[2] / "singerlake" / "cli" / "shop.singer"
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


def demo(root: Path) -> list[dict[str, Any]]:
    """The lake of sample/demo.sh, landed and replayed; and another tap in it, with many commits."""
    with receiving() as receiver:
        settings = {"tap_id": TAP, "lineage": receiver.url}
        outcome = driving.run(SHOP.read_bytes(), root, patch=PATIENT, **settings)
        assert outcome.code == 0, outcome.log
        replay({"lake_root": str(root), **settings})
        events = [*receiver.events]
    return [*events, *landed(root)]


@pytest.mark.slow
def test_its_graph_of_the_demo_lake_is_what_the_manifests_say(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitter, "AT_THE_END", PATIENCE)
    root = tmp_path / "lake"
    events = demo(root)
    first = sent(postgres, events, tmp_path)
    streams = [one for tap in open_lake(root).taps() for one in tap.streams()]
    places = {(one.tap_id, one.name): f"{root}/raw/{one.tap_id}/{one.name}" for one in streams}
    commits = {
        (f"{one.tap_id}.land.{one.name}", places[one.tap_id, one.name]): len(
            {file.committed for file in one.snapshot().files()}
        )
        for one in streams
    }
    assert {TAP, TAP_ID} == {tap for tap, _ in places}
    assert max(commits.values()) > 1
    runs: dict[tuple[str, str], set[str]] = {}
    for edge in first["edges"]:
        if edge["side"] == "output":
            runs.setdefault((edge["job"], edge["dataset"]), set()).add(edge["run"])
    landings = {(f"{tap}.land", place): 1 for (tap, _), place in places.items()}
    messages = {(f"{TAP}.replay", name): 1 for tap, name in places if tap == TAP}
    assert {pair: len(of) for pair, of in runs.items()} == commits | landings | messages
    read = {edge["dataset"] for edge in first["edges"] if edge["job"] == f"{TAP}.replay"}
    assert {one for one in read if one.startswith("/")} == {
        place for (tap, _), place in places.items() if tap == TAP
    }
    assert {edge["status"] for edge in first["edges"]} == {SUCCEEDED}
    again = [json.loads(line) for line in said("lineage", "emit", root, "--to", "-").splitlines()]
    assert sent(postgres, [*events, *again], tmp_path) == first
