"""The end of a run: a document and a row, each once, whatever the store or other runs do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from singerlake.errors import Changed, NotFound, OutcomeUnknown, Unavailable
from singerlake.format import run_log
from singerlake.format.run import RunDocument
from singerlake.lake import Lake, open_on
from singerlake.lake.runs import documents, end
from singerlake.lake.runs import log as logs
from singerlake.store import Counting, Store, open_store
from tests.lake.faulty_store import (
    At,
    BestEffort,
    Crashing,
    Died,
    Gate,
    LosingAnswers,
    Lost,
    Pausing,
    in_thread,
)
from tests.lake.landing import EPOCH, QUICK, TAP, copy_of, new_store
from tests.lake.runs.made import RUNS, made
from tests.servers import S3Server

LOG_REPLACE = At("replace", "_runs/log.json")
LOG_CREATE = At("create", "_runs/log.json")
DOCUMENT_CREATE = At("create", "-1.json", "_runs/")


@pytest.fixture(autouse=True)
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of runs is enough for segments, and for segments of segments."""
    monkeypatch.setattr(run_log, "FAN_OUT", 2)


def lake_of(store: Store) -> Lake:
    return open_on(store, create=True)


def ids(store: Store) -> list[str]:
    """The runs in the order of the log; asserts that it is numbered without holes."""
    rows = list(logs.rows(store, RUNS, logs.read_head(store, RUNS).log))
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    return [row.run_id for row in rows]


def test_a_run_has_a_document_and_a_row() -> None:
    store = new_store()
    tap = lake_of(store).tap(TAP)
    runs = [made(number) for number in range(12)]
    for run in runs:
        end(store, run)
    assert [documents.read(store, RUNS, run.name)[0] for run in runs] == runs
    seen = tap.runs()
    assert [run.run_id for run in seen] == [run.run_id for run in runs]
    assert [run.number for run in seen] == list(range(1, 13))
    assert seen[3].streams == runs[3].streams
    assert (seen[3].records, seen[3].duration) == (3, timedelta(minutes=5))
    assert [run.run_id for run in tap.runs(limit=5)] == [run.run_id for run in runs[-5:]]


@pytest.mark.parametrize("earlier", [0, 3, 40])
def test_a_run_costs_two_puts_a_get_and_a_list(earlier: int) -> None:
    inner = new_store()
    for number in range(earlier):
        end(inner, made(number))
    store = Counting(inner)
    end(store, made(earlier))
    counts = {name: times for name, times in store.counts.items() if name != "promise"}
    segments = counts.get("create", 0) + counts.get("replace", 0) - 2
    assert segments in (0, 1, 2)  # each second run seals here, and seldom a level more
    assert counts["read"] == 1
    assert counts["list"] == 1


def test_names_before_the_sealed_runs_are_not_listed() -> None:
    store = new_store()
    for number in range(40):
        end(store, made(number))
    head = logs.read_head(store, RUNS)
    newest = head.log.newest_sealed
    assert newest is not None
    from_there = [*documents.names(store, RUNS, f"{newest:%Y%m%dT%H%M%S.%fZ}~")]
    assert len(from_there) == len(head.log.rows) <= 4
    assert documents.unlogged(store, RUNS, head.log) == []


def test_a_crash_at_any_request_is_mended_by_the_next_run() -> None:
    for earlier in (0, 1, 6):
        before = new_store()
        for number in range(earlier):
            end(before, made(number))
        for at, after in ((at, after) for at in count(1) for after in (False, True)):
            store = copy_of(before)
            crashing = Crashing(store, at, after)
            try:
                end(crashing, made(100))
            except Died:
                pass
            else:
                break
            _is_whole(store, made(100), earlier)


def _is_whole(store: Store, crashed: RunDocument, earlier: int) -> None:
    """After the next run, what has a document has a row, once."""
    end(store, made(200))
    expected = [f"run-{number}" for number in range(earlier)]
    try:
        documents.read(store, RUNS, crashed.name)
    except NotFound:
        assert ids(store) == [*expected, "run-200"]
    else:
        assert sorted(ids(store)) == sorted([*expected, "run-100", "run-200"])


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
@pytest.mark.parametrize("earlier", [1, 7])
def test_a_lost_answer_of_the_log_adds_no_second_row(answer: type, earlier: int) -> None:
    store = new_store()
    for number in range(earlier):
        end(store, made(number))
    losing = LosingAnswers(store, Lost(LOG_REPLACE, answer))
    end(losing, made(100))
    assert losing.happened == 1
    assert ids(store) == [*(f"run-{number}" for number in range(earlier)), "run-100"]


def test_a_lost_answer_is_known_behind_many_other_runs() -> None:
    store = new_store()
    end(store, made(0))

    def meanwhile() -> None:
        for number in range(1, 20):
            end(store, made(number))

    end(LosingAnswers(store, Lost(LOG_REPLACE, OutcomeUnknown, meanwhile)), made(100))
    assert ids(store) == ["run-0", "run-100", *(f"run-{number}" for number in range(1, 20))]


def test_another_run_adds_the_row_first_and_it_is_there_once() -> None:
    store = new_store()
    end(store, made(0))
    gate = Gate(LOG_REPLACE)
    slow = in_thread(end, Pausing(store, gate), made(1))
    gate.wait()
    for number in range(2, 20):
        end(store, made(number))
    gate.open()
    slow.result()
    assert sorted(ids(store)) == sorted(f"run-{number}" for number in range(20))


def test_two_processes_with_one_run_id_are_two_runs() -> None:
    store = new_store()
    end(store, made(0, run_id="same", writer_id="a"))
    end(store, made(0, run_id="same", writer_id="b"))
    seen = lake_of(store).tap(TAP).runs()
    assert [(run.run_id, run.writer_id) for run in seen] == [("same", "a"), ("same", "b")]


@pytest.fixture(params=["memory", "folder", "s3"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return new_store()
    if request.param == "folder":
        return open_store(str(tmp_path))
    server: S3Server = request.getfixturevalue("seaweedfs")
    return open_store(f"s3://{server.new_bucket()}/lake", server.storage_options())


def test_many_runs_that_end_at_once_have_a_row_each(any_store: Store) -> None:
    store = any_store
    runs = [made(number) for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda run: end(store, run), runs))
    assert sorted(ids(store)) == sorted(run.run_id for run in runs)
    named = {RUNS.under(path) for path in _segments(store)}
    assert {row.key for row in store.list(f"{RUNS.folder}/_segments")} == named


def _segments(store: Store) -> list[str]:
    return [*logs.segment_paths(store, RUNS, logs.read_head(store, RUNS).log)]


def test_on_a_weak_store_the_row_is_read_back() -> None:
    store = new_store()

    def drop() -> None:
        head = logs.read_head(store, RUNS)
        store.replace(RUNS.log, run_log.encode(logs.new(RUNS)), head.version or "")

    end(store, made(0))
    overwritten = LosingAnswers(BestEffort(store), Lost(LOG_REPLACE, OutcomeUnknown, drop))
    end(overwritten, made(1), QUICK)
    assert set(ids(store)) == {"run-1"}
    end(store, made(2))
    assert set(ids(store)) == {"run-0", "run-1", "run-2"}


def test_a_row_that_fails_is_a_warning_and_a_document_that_fails_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = new_store()
    store.create(RUNS.log, b"{}")
    end(store, made(0))
    assert "no row in memory://" in caplog.text
    assert documents.read(store, RUNS, made(0).name)[0] == made(0)
    failing = LosingAnswers(new_store(), Lost(DOCUMENT_CREATE, Unavailable))
    with pytest.raises(Unavailable):
        end(failing, made(1))


def test_a_run_that_began_before_sealed_runs_waits_for_a_check() -> None:
    """Its name lies before those that the next run lists."""
    store = new_store()
    old = made(0, begun=EPOCH, run_id="long")
    for number in range(1, 8):
        end(store, made(number))
    documents.create(store, RUNS, old)
    end(store, made(100))
    assert "long" not in ids(store)
