"""The table of awaited events, opened once in a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from sqlalchemy import Engine

from singerlake.airflow import settings
from singerlake.airflow.waiting.outcome import wait_name
from singerlake.errors import Unavailable
from singerlake.wait.inbox import Inbox
from singerlake.wait.status.database import open_database
from singerlake.wait.status.store import Status, StatusStore

Result = TypeVar("Result")

MOST_ROWS = 1000
PATIENCE = 10.0


def store() -> StatusStore:
    """Raises `Unavailable`."""
    return StatusStore(_engine(settings.database_url()))


def inbox() -> Inbox:
    """Raises `Unavailable`."""
    return Inbox(_engine(settings.database_url()))


def rows_of_run(dag_id: str, run_id: str, task_id: str | None = None) -> list[Status]:
    """What the tasks of a run wait for, or one task or group of tasks. Raises `Unavailable`."""
    found = store().rows_under(f"{wait_name(dag_id, run_id)}/", MOST_ROWS)
    if task_id is None:
        return found
    # A task of a group waits under the group's name.
    names = [wait_name(dag_id, run_id, task_id), wait_name(dag_id, run_id, _group(task_id))]
    own = [row for row in found if _is_under(row.wait, names[0])]
    return own or [row for row in found if _is_under(row.wait, names[1])]


async def in_thread(work: Callable[[], Result], patience: float = PATIENCE) -> Result:
    """By one thread for all waits: SQLite takes one writer, and a table may be late.

    Raises `Unavailable` after so many seconds: no wait stops for a database that hangs.
    """
    begun = asyncio.get_running_loop().run_in_executor(_thread(), work)
    try:
        return await asyncio.wait_for(begun, patience)
    except asyncio.TimeoutError:
        raise Unavailable(
            f"the database of waits gave no answer within {patience:g} seconds"
        ) from None


def _is_under(wait: str, name: str) -> bool:
    return wait == name or wait.startswith(f"{name}/")


def _group(task_id: str) -> str:
    return task_id.rpartition(".")[0] or task_id


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="singerlake-table")


@cache
def _engine(url: str) -> Engine:
    """Not kept where it cannot be opened."""
    return open_database(url)
