"""`dag.test()`, with which users try their DAGs: it has no triggerer, and waits all the same."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.airflow.conftest import Ground
from tests.airflow.environment import environment
from tests.lake.landing import land


def a_user_can_try_a_dag(ground: Ground, tmp_path: Path) -> None:
    """On a copy of Airflow's database: the scheduler would take the tasks over."""
    land(ground.store, [1])
    source = sqlite3.connect(ground.airflow.home / "airflow.db")
    copy = sqlite3.connect(tmp_path / "airflow.db")
    with closing(source), closing(copy):
        source.backup(copy)
    variables = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path / 'airflow.db'}"}
    done = subprocess.run(
        [str(environment()), str(ground.airflow.dags / "tested.py")],
        env={**ground.airflow.environment(), **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    ends = {line.split()[1]: line.split()[2] for line in done.stdout.splitlines() if _ends(line)}
    wanted = {"here": "success", "position": "success", "missing": "failed", "skipped": "skipped"}
    assert ends == wanted, done.stdout[-3000:] + done.stderr[-3000:]
    assert "missing at" in done.stdout + done.stderr
    assert "refused moving sliding\n" in done.stdout


def _ends(line: str) -> bool:
    return line.startswith("ended ")
