"""The table of awaited events: of a run, of a task, of a group; and a database that hangs."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest

from singerlake.airflow import table
from singerlake.airflow.waiting.outcome import wait_name
from singerlake.errors import Unavailable
from singerlake.wait import HttpEvent
from singerlake.wait.event import ALWAYS
from singerlake.wait.status.place import VARIABLE

NOW = datetime(2026, 3, 3, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'waits.db'}")


def declare(*names: str) -> None:
    table.store().declare(wait_name(*names), HttpEvent(post="p", name=names[-1]), ALWAYS, None)


def test_rows_of_a_run_a_task_and_a_group() -> None:
    declare("dag", "run", "task")
    declare("dag", "run", "task", "0")
    declare("dag", "run", "group")
    declare("dag", "run", "other_task")
    declare("dag", "run 2", "task")
    declare("dag", "run%", "task")

    def names(*of: str) -> list[str]:
        return [row.name for row in table.rows_of_run(*of)]

    assert names("dag", "run") == ["task", "0", "group", "other_task"]
    assert names("dag", "run", "task") == ["task", "0"]
    assert names("dag", "run", "group.here") == ["group"]
    assert names("dag", "run", "nothing") == []
    assert names("dag", "r_n") == []


def test_a_database_that_hangs_stops_no_wait() -> None:
    gate = threading.Event()

    async def hang() -> int:
        with pytest.raises(Unavailable, match="no answer"):
            await table.in_thread(lambda: gate.wait(60), 0.05)
        with pytest.raises(Unavailable, match="no answer"):
            await table.in_thread(lambda: 1, 0.05)  # behind the one that hangs
        gate.set()
        return await table.in_thread(lambda: 2)

    assert asyncio.run(hang()) == 2
