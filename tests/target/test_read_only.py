"""The target in a lake that is read-only, from the start or from one moment on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.target.driving import (
    TAP_ID,
    lake,
    numbers,
    patched,
    record,
    run,
    schema,
    started,
    state,
)

pytestmark = pytest.mark.usefixtures("door")

OFTEN = patched("from singerlake.lake import write_guard\nwrite_guard.LOOK_EVERY = 0.2")
ORDERS = schema("orders")


def test_a_lake_that_is_read_only_is_refused_before_anything_is_landed(tmp_path: Path) -> None:
    first = run([ORDERS, record("orders", 1), state(1)], tmp_path)
    assert first.code == 0
    lake(tmp_path).set_read_only("moving")
    before = {path: path.read_bytes() for path in tmp_path.rglob("raw/**/*") if path.is_file()}
    refused = run([ORDERS, record("orders", 2), state(2)], tmp_path)
    assert refused.code != 0
    assert refused.states == []
    assert "the lake is read-only (moving)" in refused.log
    assert {path: path.read_bytes() for path in before} == before
    lake(tmp_path).set_writable()
    assert run([ORDERS, record("orders", 2), state(2)], tmp_path).code == 0
    assert numbers(tmp_path, "orders") == [1, 2]


def test_a_target_at_work_notices_and_passes_no_state_on_that_is_not_landed(
    tmp_path: Path,
) -> None:
    with started(tmp_path, command=OFTEN, commit_interval_seconds=0.05) as running:
        running.send(ORDERS, record("orders", 1), state(1))
        assert running.next_state() == b"1"
        lake(tmp_path).set_read_only("legal hold")
        time.sleep(0.3)
        running.send(record("orders", 2), state(2))
        ended = running.end()
    assert ended.code != 0
    assert ended.states == []
    assert "the lake is read-only (legal hold)" in ended.log
    assert numbers(tmp_path, "orders") == [1]
    (run_of_it,) = lake(tmp_path).tap(TAP_ID).runs(open=True)
    assert run_of_it.outcome == "open"
