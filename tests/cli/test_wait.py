"""`singerlake wait`."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine

from singerlake.cli.root import Root
from singerlake.errors import Unavailable
from singerlake.lake import Lake, open_lake
from singerlake.wait.status.database import open_database
from singerlake.wait.status.mirror import Mirror
from tests.cli.lake import run, said
from tests.lake.landing import KEYS, STREAM, TAP
from tests.lake.running import land_run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    store = open_lake(tmp_path / "lake", create=True).store
    land_run(store, "first", [1, 2])
    return tmp_path / "lake"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/waits.db"


def test_what_came_in_the_window_is_there_at_once(lake: Path) -> None:
    answer = json.loads(said("wait", lake, f"{TAP}/{STREAM}", "--window", "D", "--json"))
    (event,) = answer["events"]
    assert answer["done"] is True
    assert event["position"]["run_id"] == "first"
    assert event["position"]["streams"][STREAM]["sequence"] == 1


def test_a_commit_by_its_number(lake: Path) -> None:
    assert "sequence 1" in said("wait", lake, f"{TAP}/{STREAM}@1")
    assert "missing" in said(
        "wait", lake, f"{TAP}/{STREAM}@2", "--timeout", "1s", "--every", "0.1", code=1
    )


def test_a_run_that_ended_before_does_not_count_and_a_new_one_does(lake: Path) -> None:
    landing = threading.Timer(0.5, land_run, (open_lake(lake).store, "second", [3]))
    landing.start()
    try:
        answer = said("wait", lake, TAP, "--json", "--every", "0.1", "--timeout", "60s")
    finally:
        landing.join()
    assert json.loads(answer)["events"][0]["position"]["run_id"] == "second"


def test_since(lake: Path) -> None:
    said("wait", lake, TAP, "--since", "2026-01-01")
    said("wait", lake, TAP, "--since", "9000-01-01", "--timeout", "1s", code=1)


def test_any_and_at_least(lake: Path, database: str) -> None:
    words = ("wait", lake, TAP, "--window", "D", "--http", "file", "--database", database)
    said(*words, "--any")
    said(*words, "--timeout", "1s", code=1)
    said("events", "mark", "file", "--database", database)
    said(*words)
    assert run(*words, "--at-least", "3").exit_code == 2
    assert run(*words, "--at-least", "1", "--any").exit_code == 2


def test_a_post_alone_needs_no_lake(database: str) -> None:
    words = ("wait", "--http", "file", "--window", "D", "--database", database)
    assert "missing" in said(*words, "--timeout", "1s", code=1)
    said("events", "mark", "file", "--database", database)
    said(*words)


def test_a_wait_with_a_name_is_in_the_table(lake: Path, database: str) -> None:
    db = ("--database", database)
    words = (f"{TAP}/{STREAM}", f"{TAP}/{STREAM}@9", "--window", "D", "--every", "0.1", *db)
    said("wait", lake, *words, "--timeout", "1s", code=1)
    assert "nothing is awaited" in said("events", "status", *db)
    said("wait", lake, *words, "--any", "--name", "morning")
    rows = json.loads(said("events", "status", "morning", "--json", *db))["events"]
    assert [(row["name"], row["state"]) for row in rows] == [
        (f"{TAP}/{STREAM}", "received"),
        (f"{TAP}/{STREAM}@9", "missed"),
    ]
    # Without a window, each wait has rows of its own.
    for _ in range(2):
        said("wait", lake, f"{TAP}/{STREAM}@1", "--name", "evening", *db)
        time.sleep(1)
    rows = json.loads(said("events", "status", "evening", "--json", *db))["events"]
    assert [row["state"] for row in rows] == ["received"] * 2


def test_a_table_that_is_away_stops_no_wait(
    lake: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: Mirror, standings: object) -> None:
        raise Unavailable("the database is away")

    monkeypatch.setattr(Mirror, "show", away)
    outcome = run("wait", lake, f"{TAP}/{STREAM}@1", "--name", "n", "--database", database)
    assert outcome.exit_code == 0
    assert "the database is away" in outcome.stderr


AWAY = "postgresql://me:s3cret@127.0.0.1:1/waits"


def test_a_database_that_is_away_at_the_beginning_ends_no_wait(
    lake: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is for others; and a post may come once the database is back."""
    outcome = run("wait", lake, f"{TAP}/{STREAM}@1", "--name", "n", "--database", AWAY)
    assert outcome.exit_code == 0, outcome.output
    assert "does not answer" in outcome.stderr
    said("events", "mark", "file", "--time", "2026-03-03", "--database", database)
    opened: list[str] = []

    def open_later(url: str) -> Engine:
        opened.append(url)
        return open_database(AWAY if len(opened) < 3 else url)

    words = ("--http", "file", "--since", "2026-01-01", "--timeout", "9s", "--every", "0.1")
    with monkeypatch.context() as patched:
        patched.setattr("singerlake.wait.status.database.open_database", open_later)
        assert "received" in said("wait", *words, "--database", database)
    assert len(opened) == 3
    outcome = run("wait", "--http", "file", "--timeout", "1s", "--database", AWAY)
    assert outcome.exit_code == 5
    assert "missing at the deadline: file" in outcome.output
    assert "s3cret" not in outcome.output
    assert run("wait", "--http", "file", "--database", "nonsense").exit_code == 2


def test_a_name_that_is_nearly_right_is_a_warning(lake: Path) -> None:
    """What is not there yet may be awaited."""
    words = ("--timeout", "1s", "--every", "0.1", "--json")
    for word, meant in ((TAP[:-1], TAP), (f"{TAP}/{STREAM[:-1]}", STREAM)):
        outcome = run("wait", lake, word, *words)
        assert outcome.exit_code == 1
        assert f"Did you mean '{meant}'?" in outcome.stderr
        assert not json.loads(outcome.stdout)["done"]
    known = run("wait", lake, f"{TAP}/{STREAM}", TAP, *words)
    assert "Warning" not in known.stderr


def test_a_damaged_lake_at_the_deadline(lake: Path) -> None:
    (lake / KEYS.manifest).write_bytes(b"{")
    said("wait", lake, f"{TAP}/{STREAM}@1", "--timeout", "1s", code=3)


@pytest.mark.parametrize(
    "words",
    [
        ["a/b/c"],
        ["tap@7"],
        ["tap/stream@x"],
        ["tap/stream@0"],
        ["tap/stream@" + "9" * 5_000],
        ["tap--x", "--timeout", "soon"],
        ["tap--x", "--timeout", "-1h"],
        ["tap--x", "--timeout", "9999999d"],
        ["tap--x", "--window", "X"],
        ["tap--x", "--zone", "Europe/Berlin"],
        ["tap--x", "--window", "D", "--zone", "Nowhere"],
        ["tap--x", "--window", "D", "--since", "2026-01-01"],
        ["tap--x", "tap--x"],
        [],
    ],
)
def test_wrong_use(lake: Path, words: list[str]) -> None:
    result = run("wait", lake, *words)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_the_root_may_come_from_the_environment(lake: Path) -> None:
    said("wait", f"{TAP}/{STREAM}", "--window", "D", SINGERLAKE_ROOT=str(lake))
    assert run("wait", TAP, "--timeout", "1s").exit_code == 2


def test_names_are_escaped_as_in_paths(tmp_path: Path) -> None:
    from tests.lake.running import Running

    store = open_lake(tmp_path / "odd", create=True).store
    running = Running(store, "odd", stream="a/b", tap="tap @x")
    running.commit([1])
    running.end()
    said("wait", tmp_path / "odd", "tap!20!40x/a!2Fb", "--window", "D")


def test_a_store_that_is_away_ends_no_wait(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the command begins, nor later; only the deadline does."""
    real, away = Root.lake, [True] * 3

    def flaky(root: Root) -> Lake:
        if away and away.pop():
            raise Unavailable("away")
        return real(root)

    monkeypatch.setattr(Root, "lake", flaky)
    words = ("wait", lake, f"{TAP}/{STREAM}@1", "--every", "0.1", "--timeout")
    assert "sequence 1" in said(*words, "60s")
    assert not away
    monkeypatch.setattr(Root, "lake", lambda root: (_ for _ in ()).throw(Unavailable("away")))
    said(*words, "1s", code=5)


@pytest.mark.slow
def test_an_interrupted_wait_ends_with_130(lake: Path) -> None:
    command = [sys.executable, "-m", "singerlake.cli", "wait", str(lake), "tap-never--x"]
    with subprocess.Popen(
        [*command, "--http", "x", "--database", f"sqlite:///{lake}.db", "--every", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as waiting:
        until_there(Path(f"{lake}.db"))
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(60) == 130
        assert waiting.stdout is not None
        assert "Traceback" not in waiting.stdout.read()


@pytest.mark.slow
def test_a_terminal_has_a_live_table_until_the_end(lake: Path) -> None:
    """What is waited for; in its place comes what has arrived."""
    command = [sys.executable, "-m", "singerlake.cli", "wait", str(lake), TAP, "--every", "0.1"]
    screen, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as waiting:
        os.close(terminal)
        first = drawn_until(screen, "waiting")
        assert TAP in first
        land_run(open_lake(lake).store, "second", [3])
        drawn = drawn_until(screen, None)
        assert waiting.wait(60) == 0
    os.close(screen)
    live, _, left = drawn.rpartition(SHOW_CURSOR)
    assert ERASE_LINE in live  # the live table is gone
    assert "received" in left
    assert "waiting" not in left


SHOW_CURSOR, ERASE_LINE = "\x1b[?25h", "\x1b[2K"


def drawn_until(screen: int, text: str | None) -> str:
    """What a program draws on its terminal, until this text is there, or until its end."""
    drawn = b""
    while text is None or text.encode() not in drawn:
        assert select.select([screen], [], [], 60)[0], drawn
        try:
            portion = os.read(screen, 4096)
        except OSError:  # so Linux says that nobody has the terminal any more
            portion = b""
        if not portion:
            assert text is None, drawn
            break
        drawn += portion
    return drawn.decode()


def until_there(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
