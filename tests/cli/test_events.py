"""`singerlake events`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from singerlake.errors import NoAnswer, Unavailable
from singerlake.lake import open_lake
from singerlake.runtime import Runtime
from singerlake.wait.inbox import Inbox
from singerlake.wait.status.database import open_database
from singerlake.wait.watch import Notice, Watch
from tests.cli.lake import run, said
from tests.lake.landing import TAP
from tests.lake.running import land_run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    store = open_lake(tmp_path / "lake", create=True).store
    land_run(store, "first", [1, 2])
    return tmp_path / "lake"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/waits.db"


def test_events_are_marked_and_shown(database: str) -> None:
    assert "marked" in said("events", "mark", "file", "--id", "7", "--database", database)
    assert "repeat" in said("events", "mark", "file", "--id", "7", "--database", database)
    assert run("events", "mark", "file", "--body", "[]", "--database", database).exit_code == 2
    assert "nothing is awaited" in said("events", "status", "--database", database)


def test_a_bad_database_is_named_without_its_password() -> None:
    result = run("events", "status", "--database", "postgresql://me:s3cret@127.0.0.1:1/x")
    assert result.exit_code == 5, result.output
    assert "s3cret" not in result.output
    assert run("events", "status", "--database", "nonsense").exit_code == 2


def test_watch_reports_once_and_exits_with_1(lake: Path, tmp_path: Path, database: str) -> None:
    path = tmp_path / "expectations.json"
    expectation = {
        "name": "too late",
        "by": "1s",
        "window": {"kind": "calendar", "frequency": "Y"},
        "events": [
            {"type": "lake-run", "tap": TAP, "lake": str(lake)},
            {"type": "lake-run", "tap": "tap-never--x", "lake": str(lake)},
        ],
    }
    path.write_text(json.dumps({"expectations": [expectation]}))
    words = ("events", "watch", path, "--once", "--json", "--database", database)
    assert json.loads(said(*words, code=1))["events"] == ["run of tap-never--x"]
    assert said(*words) == ""
    rows = json.loads(said("events", "status", "--json", "--database", database))["events"]
    assert {row["name"]: row["state"] for row in rows} == {
        f"run of {TAP}": "received",
        "run of tap-never--x": "missed",
    }


def test_a_watch_goes_on_while_its_database_is_away(
    lake: Path, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "expectations.json"
    expectation = {
        "name": "runs",
        "by": "1s",
        "window": {"kind": "calendar", "frequency": "Y"},
        "events": [{"type": "lake-run", "tap": TAP, "lake": str(lake)}],
    }
    path.write_text(json.dumps({"expectations": [expectation]}))
    looks: list[int] = []

    def look(watch: Watch) -> list[Notice]:
        looks.append(1)
        if len(looks) == 3:
            raise KeyboardInterrupt
        raise Unavailable("the database is away")

    monkeypatch.setattr(Watch, "look", look)
    words = ("events", "watch", path, "--database", database)
    assert run(*words, "--every", "0.01").exit_code == 130
    looks.clear()
    assert run(*words, "--once").exit_code == 5


def test_an_address_that_is_dead_fills_no_other_mailbox(
    lake: Path, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "expectations.json"
    expectation = {
        "name": "too late",
        "by": "1s",
        "window": {"kind": "calendar", "frequency": "Y"},
        "events": [{"type": "lake-run", "tap": "tap-never--x", "lake": str(lake)}],
        "notify": ["mailto:ops@example.com", "http://example.com/hook"],
    }
    path.write_text(json.dumps({"expectations": [expectation]}))
    sent: list[str] = []

    def send(notice: Notice, address: str, *_: object) -> None:
        sent.append(address)
        if sent.count("http://example.com/hook") == 4:
            raise KeyboardInterrupt
        if address.startswith("http"):
            raise NoAnswer("the webhook is away")

    monkeypatch.setattr("singerlake.wait.notice.send", send)
    result = run("events", "watch", path, "--database", database, "--every", "0.01")
    assert result.exit_code == 130
    assert sent.count("mailto:ops@example.com") == 1
    assert result.stdout.count("missing") == 1


@pytest.mark.slow
def test_the_receiver_as_a_service(database: str, lake: Path) -> None:
    """Ready line, a post that a wait finds, a graceful stop."""
    command = [sys.executable, "-m", "singerlake.cli", "events", "serve"]
    environment = {**os.environ, "SINGERLAKE_EVENTS_TOKEN": "s3cret"}
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", "--database", database, "--json"],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as service:
        assert service.stdout is not None
        url = json.loads(service.stdout.readline())["url"]
        assert httpx.post(f"{url}/events/file").status_code == 401
        headers = {"Authorization": "Bearer s3cret"}
        assert httpx.post(f"{url}/events/file", headers=headers).status_code == 201
        service.send_signal(signal.SIGTERM)
        assert service.wait(30) == 0
    said("wait", lake, "--http", "file", "--window", "D", "--database", database)


class LongAgo(Runtime):
    def now(self) -> datetime:
        return super().now() - timedelta(days=91)


def test_an_age_that_no_calendar_holds_is_wrong_use(database: str) -> None:
    said("events", "forget", "--older-than", "9999999d", "--database", database, code=2)


def test_old_posts_are_forgotten(database: str) -> None:
    words = ("--database", database, "--json")
    said("events", "mark", "new", *words)
    Inbox(open_database(database), LongAgo()).take("old", {})
    assert json.loads(said("events", "forget", *words)) == {"rows": 0, "posts": 1}
    assert json.loads(said("events", "forget", *words)) == {"rows": 0, "posts": 0}
    assert run("events", "forget", "--older-than", "-1d", *words).exit_code == 2
