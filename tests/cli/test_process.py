"""`singerlake process`: run, and look after keys."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from singerlake.cli import main
from singerlake.cli.process.job import choice as jobs
from singerlake.cli.process.job.command import CommandFailed, CommandJob
from singerlake.errors import Later
from singerlake.processor import Engine, Event, open_engine
from singerlake.processor.engine.values import Outcome, Slot, Terms
from singerlake.store import LocalStore
from tests.lake.landing import TAP
from tests.lake.running import Running

KEY = f"{TAP}/orders"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = f"sqlite:///{tmp_path}/work.db?synchronous=normal"
    monkeypatch.setenv("SINGERLAKE_ENGINE", found)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with open_engine(url) as made:
        yield made


@pytest.fixture
def lake(tmp_path: Path) -> str:
    run = Running(LocalStore(tmp_path / "lake"), "r-1")
    for number in range(3):
        run.commit([number])
    run.end()
    return str(tmp_path / "lake")


def process(*words: str) -> Result:
    return CliRunner().invoke(main, ["process", *words], catch_exceptions=False)


def answer(*words: str) -> Any:
    result = process(*words, "--json")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    return json.loads(result.stdout) if lines[:1] == ["{"] else [json.loads(one) for one in lines]


def run(lake: str, *words: str) -> Result:
    return process("run", lake, "--until-idle", "--poll", "0.05", *words)


def kill_head(engine: Engine, key: str) -> int:
    """Make the first event of a key a dead letter; returns its position."""
    grant = engine.turn(0, Slot("t", 0), Terms()).grant
    assert grant is not None
    engine.turn(
        0, Slot("t", 0), Terms(), Outcome(key, grant.token, "dead", error="no"), claim=False
    )
    return grant.entries[0].position


def test_a_command_gets_each_event_as_a_line(url: str, lake: str, tmp_path: Path) -> None:
    result = run(lake, "--", "sh", "-c", "cat >> seen")
    assert result.exit_code == 0, result.output
    assert "3 events processed" in result.output
    lines = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert [line["sequence"] for line in lines] == [1, 2, 3]
    assert {line["key"] for line in lines} == {KEY}
    assert (tmp_path / "lake/raw/_consumers/sh.json").exists()


def test_exit_codes_of_a_command(url: str, lake: str, tmp_path: Path, engine: Engine) -> None:
    script = "test -e again || { touch again; exit 7; }"
    assert run(lake, "--", "sh", "-c", script).exit_code == 0
    assert (tmp_path / "again").exists()
    assert engine.dead() == []


def test_75_is_later() -> None:
    job = CommandJob(["sh", "-c", "exit 75"])
    with pytest.raises(Later):
        job.process_event(Event("k", 1, 1, 1))
    with pytest.raises(CommandFailed, match="ended with 3"):
        CommandJob(["sh", "-c", "exit 3"]).process_event(Event("k", 1, 1, 1))


def test_every_waits_for_its_span() -> None:
    calls: list[Event] = []
    job = jobs.every(calls.append, 60)
    event = Event("k", 1, 1, 1)
    job(event)
    with pytest.raises(Later):
        job(Event("k", 2, 2, 1, state=event.state))
    assert len(calls) == 1


def test_a_function_and_a_webhook(url: str, lake: str, tmp_path: Path) -> None:
    (tmp_path / "myjobs.py").write_text(
        "def on_commit(event):\n    open('called', 'a').write(f'{event.sequence}\\n')\n"
    )
    assert run(lake, "--job", "myjobs:on_commit").exit_code == 0
    assert (tmp_path / "called").read_text() == "1\n2\n3\n"
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(503 if len(posted) == 1 else 204)
            self.send_header("Retry-After", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hook = f"webhook:http://127.0.0.1:{server.server_port}/hook"
    result = run(lake, "--name", "other", "--job", hook)
    assert result.exit_code == 2
    assert "works for 'myjobs:on_commit'" in result.output
    result = run(lake, "--name", "other", "--engine", "sqlite:///other.db", "--job", hook)
    server.shutdown()
    assert result.exit_code == 0, result.output
    assert [body["sequence"] for body in posted] == [1, 1, 2, 3]


def test_vacuum_takes_all_commits_at_once(url: str, lake: str, tmp_path: Path) -> None:
    assert run(lake, "--job", "vacuum").exit_code == 0
    shown = CliRunner().invoke(main, ["show", lake, TAP, "orders", "--json"])
    assert [file["records"] for file in json.loads(shown.stdout)["files"]] == [3]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Missing option --job"),
        (("--job", "vacuum", "--", "cat"), "two jobs"),
        (("--job", "nonsense"), "MODULE:FUNCTION"),
        (("--job", "nonsense:x"), "No module named"),
        (("--job", "webhook:ftp://x"), "webhook:https"),
        (("--job", "project:out?mode"), "project:OUT"),
        (("--job", "vacuum", "--metrics", "127.0.0.1:1.2"), "HOST:PORT"),
        (("--job", "vacuum", "--every", "1h", "--at-most-once"), "--every puts events back"),
        (("--job", "vacuum", "--every", "soon"), "no span"),
        (("--job", "vacuum", "--engine", "kafka://x"), "expected an engine"),
        (("--job", "vacuum", "--from", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_run_says_why(url: str, lake: str, words: tuple[str, ...], says: str) -> None:
    result = run(lake, *words)
    assert result.exit_code == 2
    assert says in result.output


def test_a_job_that_cannot_be_loaded_says_why(
    url: str, lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_job.py").write_text("def x(:")
    result = run(lake, "--job", "broken_job:x")
    assert (result.exit_code, "SyntaxError" in result.output) == (2, True)


def test_metrics_need_a_free_port(url: str, lake: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run(lake, "--job", "vacuum", "--metrics", address)
    assert (result.exit_code, f"--metrics {address}" in result.output) == (2, True)


def test_looking_makes_no_engine(url: str, tmp_path: Path) -> None:
    result = process("ls")
    assert result.exit_code == 2
    assert "there is no such engine" in result.output
    assert not (tmp_path / "work.db").exists()


def test_ls_show_why_and_check(engine: Engine) -> None:
    engine.add(KEY, {"n": 1})
    engine.add(KEY, b"\xff")
    assert [row["status"] for row in answer("ls")] == ["ready"]
    shown = answer("show", KEY)
    assert [event["value"] for event in shown["events"]] == [{"n": 1}, "\\xff"]
    assert "ready for a processor" in answer("why", KEY)["why"]
    assert process("check").exit_code == 0
    for words in (("ls",), ("show", KEY), ("why", KEY)):
        assert process(*words).exit_code == 0
    grant = engine.turn(0, Slot("host-1", 3), Terms()).grant
    assert grant is not None
    assert "leased by host-1/3 since" in process("why", KEY).output


def test_pause_and_resume(engine: Engine) -> None:
    engine.add(KEY, 1)
    assert answer("pause", KEY, "--reason", "later")["status"] == "paused"
    assert "paused: later" in process("why", KEY).output
    assert process("check").exit_code == 1
    assert answer("resume", KEY)["status"] == "ready"
    assert process("resume", KEY).exit_code == 2


def test_check_counts_keys_that_are_paused_by_hand(engine: Engine) -> None:
    assert process("check").output == "every key moves\n"
    engine.add(KEY, 1)
    process("pause", KEY)
    assert answer("check") == {"findings": [], "paused_by_hand": 1}
    assert process("check").output == "nothing to look at; 1 key is paused by hand\n"
    process("pause", "other")
    process("pause", "third", "--reason", "look at it")
    result = process("check")
    assert result.exit_code == 1
    assert result.output.endswith("1 finding; 2 keys are paused by hand\n")


def test_who_waits_without_a_failure_backs_off_from_nothing(
    url: str, lake: str, engine: Engine
) -> None:
    """As the poller of a healthy engine does."""
    # Idle is who has polled twice: seldom, so that the next poll is not due at once.
    assert run(lake, "--name", "cat", "--job", "vacuum", "--poll", "3").exit_code == 0
    (row,) = answer("ls")
    assert (row["key"], row["status"]) == ("_lake/cat", "waits")
    assert "without a failure" in process("why", "_lake/cat").output
    engine.add(KEY, 1)
    # The next poll may be due as well, and is another slot's then.
    grants = [engine.turn(0, Slot("t", number), Terms()).grant for number in range(2)]
    (at,) = (number for number, grant in enumerate(grants) if grant and grant.key == KEY)
    failed = Outcome(KEY, grants[at].token, "fail", delay=60, error="no")
    engine.turn(0, Slot("t", at), Terms(), failed, claim=False)
    assert "after 1 failure: no" in process("why", KEY).output


def test_dead_letters(engine: Engine) -> None:
    engine.add_many(KEY, [1, 2])
    position = kill_head(engine, KEY)
    (letter,) = answer("dead", "ls")
    assert (letter["key"], letter["position"], letter["reason"]) == (KEY, position, "no")
    assert "held by a dead letter" in process("why", KEY).output
    assert process("check").exit_code == 1
    assert answer("dead", "redrive", KEY)["redriven"] == [position]
    assert engine.look(KEY).waiting == 2
    position = kill_head(engine, KEY)
    assert process("dead", "drop", KEY, "1").exit_code == 2
    assert answer("dead", "drop", KEY, str(position))["dropped"] == [position]
    assert engine.look(KEY).status == "ready"
    assert process("dead", "ls").exit_code == 0


def test_scheduled_events(engine: Engine) -> None:
    id = engine.add(KEY, 1, delay=60)
    (row,) = answer("scheduled")
    assert (row["id"], row["key"]) == (id, KEY)
    assert process("scheduled").exit_code == 0
    assert answer("cancel", id) == {"cancelled": id}
    assert process("cancel", id).exit_code == 2


@pytest.mark.slow
def test_a_projection_follows_its_stream(url: str, lake: str, tmp_path: Path) -> None:
    result = run(lake, "--job", f"project:{tmp_path}/tables")
    assert result.exit_code == 0, result.output
    assert "3 events processed" in result.output
    (published,) = (tmp_path / "tables").rglob("published.json")
    assert json.loads(published.read_text())["sequence"] == 3
