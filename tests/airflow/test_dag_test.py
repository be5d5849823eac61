"""`dag.test()`, with which users try their DAGs: it has no triggerer, and waits all the same."""

from __future__ import annotations

import subprocess

import pytest

from tests.airflow.conftest import Ground
from tests.airflow.environment import environment
from tests.lake.landing import land

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_user_can_try_a_dag(ground: Ground) -> None:
    land(ground.store, [1])
    done = subprocess.run(
        [str(environment()), str(ground.airflow.dags / "tested.py")],
        env=ground.airflow.environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    ends = {line.split()[1]: line.split()[2] for line in done.stdout.splitlines() if _ends(line)}
    wanted = {"here": "success", "position": "success", "missing": "failed", "skipped": "skipped"}
    assert ends == wanted, done.stdout[-3000:] + done.stderr[-3000:]
    assert "missing at" in done.stdout + done.stderr


def _ends(line: str) -> bool:
    return line.startswith("ended ")
