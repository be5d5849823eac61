"""Names that attack whoever reads a plugin's log: of streams, message types, other writers."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from singerlake.format.keys import StreamKeys
from singerlake.plugin.log import make_plain
from singerlake.store import LocalStore
from tests.faults.result import Line
from tests.tap.replay import run as replay
from tests.target.driving import TAP_ID, record, run, schema

SUITE = "A lake by an enemy"
THIS = "tests/faults/test_hostile_logs.py"
ENEMY = "\x1b[31mred\x1b]0;title\x07\u202e\nERROR all is lost"
QUOTED = json.dumps(ENEMY)[1:-1]


def assert_harmless(log: str) -> None:
    assert "all is lost" in log, "the name is told"
    assert [line for line in log.splitlines() if line.startswith("ERROR")] == []
    assert log.replace("\n", "").isprintable()


def test_a_writer_id_in_a_lock_is_told_on_one_line(tmp_path: Path) -> None:
    row = Line(SUITE, "a writer id in a lock, in the target's log", THIS, runs=1, faults=1)
    root = tmp_path / "lake"
    assert run([schema("orders"), record("orders", 1)], root).code == 0
    (folder,) = {path.parent for path in root.rglob("*.singer.gz")}
    moment = "2026-01-01T00:00:00Z"
    lock = {"writer-id": ENEMY, "acquired": moment, "refreshed": moment}
    key = StreamKeys(TAP_ID, "orders").lock(folder.name)
    LocalStore(root).create(key, json.dumps(lock).encode())
    done = run([schema("orders"), record("orders", 2)], root, lock_stale_after_seconds=1)
    assert done.code == 0, done.log
    assert_harmless(done.log)
    row.keep()


def test_names_that_a_tap_sends_are_told_on_one_line(tmp_path: Path) -> None:
    row = Line(SUITE, "names of streams and types, in both plugins' logs", THIS, faults=3)
    root = tmp_path / "lake"
    unknown = f'{{"type":"{QUOTED}"}}'
    logs = [
        run([schema(QUOTED), record(QUOTED, 1)], root).log,
        run([schema("orders"), unknown], root).log,
        run([record(QUOTED, 1)], root).log,
        replay(tmp_path, {"lake_root": str(root), "tap_id": TAP_ID}).log,
    ]
    for log in logs:
        row.runs += 1
        assert_harmless(log)
    row.keep()


@pytest.fixture
def factory() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)


@pytest.mark.usefixtures("factory")
def test_a_record_is_plain_whatever_handler_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger = logging.Logger(f"tap.{ENEMY}")
    logger.addHandler(handler)
    row = Line(SUITE, "control: a log without its guard", f"{THIS} -k whatever", runs=1)
    logger.warning("of %s", ENEMY)
    row.control("\nERROR all is lost" in capsys.readouterr().err)
    make_plain()
    logger.warning("of %s", ENEMY)
    assert_harmless(capsys.readouterr().err)
