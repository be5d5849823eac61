"""One Airflow for all tests that need it: it takes a minute of a processor to be healthy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from singerlake.lake import open_on
from singerlake.store import Store, open_store
from singerlake.wait.inbox import Inbox
from singerlake.wait.status.database import open_database
from singerlake.wait.status.store import StatusStore
from tests.airflow.mail import MailServer, mail_server
from tests.airflow.server import Airflow, airflow, until
from tests.kafka import Kafka, kafka

DAGS = Path(__file__).parent / "dags"
EXAMPLES = Path(__file__).parents[2] / "sample" / "airflow"
NAMES = (
    *("one_sensor", "missed", "any_of", "mapped", "many", "marks", "mails", "seen"),
    *("on_commits", "tested", "morning", "orders_on_commits"),
)


@dataclass(frozen=True)
class Ground:
    """A lake, a Kafka, a database of waits, a mail server, and an Airflow that knows them."""

    airflow: Airflow
    lake: str
    database: str
    kafka: Kafka
    mail: MailServer
    sink: Path

    @property
    def store(self) -> Store:
        return open_store(self.lake)

    def inbox(self) -> Inbox:
        return Inbox(open_database(self.database))

    def table(self) -> StatusStore:
        return StatusStore(open_database(self.database))


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with new_ground(tmp_path_factory.mktemp("airflow")) as made:
        yield made


@contextmanager
def new_ground(home: Path, metadata: str = "", **more: str) -> Iterator[Ground]:
    """`metadata` is the URL of Airflow's own database; SQLite without one."""
    lake, database = str(home / "lake"), f"sqlite:///{home / 'events.db'}"
    open_on(open_store(lake), create=True)
    with kafka() as broker, mail_server(home / "mail") as mail:
        broker.create("marks")
        smtp = {
            "conn_type": "smtp",
            "host": mail.host,
            "port": mail.port,
            "extra": {"disable_ssl": True, "disable_tls": True, "from_email": "lake@example.com"},
        }
        variables = {
            "SINGERLAKE_ROOT": lake,
            "SINGERLAKE_EVENTS_DATABASE": database,
            "SINK": str(home / "sink.jsonl"),
            "SINK_DATABASE": str(home / "sink.db"),
            "KAFKA": broker.bootstrap,
            "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(smtp),
            **more,
        }
        with airflow(home / "airflow", [DAGS, EXAMPLES], metadata, **variables) as running:
            start(running, NAMES)
            running.connect("lake", "generic", extra=json.dumps({"root": lake}))
            yield Ground(running, lake, database, broker, mail, home / "sink.jsonl")


def start(running: Airflow, dag_ids: Sequence[str]) -> None:
    """All of it, until the DAGs are there."""
    running.start("api-server")
    until(running.answers, "the API server answers")
    running.connect_to_itself("receiver")
    running.run("pools", "set", "small", "1", "for the tests")
    running.start("scheduler", "triggerer", "dag-processor")
    until(running.is_healthy, "Airflow is healthy")
    until(lambda: running.has_dags(*dag_ids), "the DAGs are there")
