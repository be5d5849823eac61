"""Projections: whole versions, once each, whatever dies on the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from singerlake.errors import CommitConflict, DamageError, SingerlakeError, StaleSnapshot
from singerlake.format.keys import StreamKeys
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.projection.document import Settings
from singerlake.spark import project as job
from singerlake.spark.read_published import published
from singerlake.store import Store, open_store
from tests.spark import projecting
from tests.spark.projecting import TAP, Crash, CrashingStore, FailingTasks, Projector, simple


def test_versions_before_are_kept_for_a_while(projector: Projector) -> None:
    projector.land(simple(range(5)))
    projector.run()
    old = projector.data_files()
    assert projector.run(full=True).removed == 0
    assert old < projector.data_files()
    assert projector.run(grace=timedelta(0)).removed == len(old)
    assert old.isdisjoint(projector.data_files())
    assert projector.ids() == list(range(5))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("first", [True, False], ids=["first version", "second version"])
def test_a_crash_around_the_put_publishes_once(
    projector: Projector, monkeypatch: pytest.MonkeyPatch, when: str, first: bool
) -> None:
    if not first:
        projector.land(simple(range(100, 110)))
        projector.run()
    projector.land(simple(range(10)))
    expected = [*range(10), *([] if first else range(100, 110))]

    def crashing(url: Any, options: Any = None) -> Store:
        return CrashingStore(open_store(url, options), before=when == "before")

    with monkeypatch.context() as patch:
        patch.setattr(job, "open_store", crashing)
        with pytest.raises(Crash):
            projector.run()
    visible = expected if when == "after" else [id_ for id_ in expected if id_ >= 100]
    if visible:
        assert projector.ids() == visible
    done = projector.run(grace=timedelta(0))
    assert done.status == ("unchanged" if when == "after" else "published")
    assert projector.ids() == expected
    named = {file.path for file in published(projector.out, TAP, "orders").files}
    assert {key.partition("/orders/")[2] for key in projector.data_files()} == named


def test_a_failed_task_publishes_nothing(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(format="parquet", mode="append", partition_by=("shop",))
    projector.land(simple(range(10)))
    projector.run(settings=settings)
    projector.land(simple(range(100, 200)))
    monkeypatch.setattr(job, "open_store", lambda *given: FailingTasks(open_store(*given)))
    # An executor cannot import the tests.
    cloudpickle.register_pickle_by_value(projecting)
    try:
        with pytest.raises(SingerlakeError, match="disk of this executor is full"):
            projector.run(settings=settings)
    finally:
        cloudpickle.unregister_pickle_by_value(projecting)
    assert projector.ids() == list(range(10))
    monkeypatch.undo()
    projector.run(settings=settings, grace=timedelta(0))
    assert projector.ids() == [*range(10), *range(100, 200)]
    assert len(projector.data_files()) == len(published(projector.out, TAP, "orders").files)


def test_two_runs_at_once_publish_once(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    projector.land(simple(range(10)))
    put: Callable[..., None] = job.put

    def after_another(*given: Any) -> None:
        monkeypatch.undo()
        projector.run()
        put(*given)

    monkeypatch.setattr(job, "put", after_another)
    with pytest.raises(CommitConflict, match="Run it again"):
        projector.run()
    assert projector.run(grace=timedelta(0)).status == "unchanged"
    assert projector.ids() == list(range(10))


def test_the_keys_are_those_of_the_plan(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a tap is set back to an older schema, and its keys, while the run is at work."""
    properties = {"id": {"type": "integer"}, "v": {"type": "string"}}

    def commit(keys: list[str], value: str) -> list[dict[str, Any]]:
        record = projecting.record_message("s", {"id": 1, "v": value}, 1)
        return [projecting.schema_message("s", properties, keys), record]

    projector.land(commit(["id"], "a"), commit(["id", "v"], "b"))
    rows: Callable[..., Any] = job.rows

    def after_a_commit(*given: Any, **more: Any) -> Any:
        projector.land(commit(["id"], "c"))
        return rows(*given, **more)

    monkeypatch.setattr(job, "rows", after_a_commit)
    projector.run("s", projecting.CURRENT)
    assert sorted(row["v"] for row in projector.rows("s")) == ["a", "b"]


def test_staged_files_that_are_gone_are_not_published(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    projector.land(simple(range(10)))
    stage: Callable[..., Any] = job.stage

    def lossy(*given: Any) -> Any:
        files = stage(*given)
        open_store(projector.out).delete(next(iter(projector.data_files())))
        return files

    monkeypatch.setattr(job, "stage", lossy)
    with pytest.raises(DamageError, match="nothing was published"):
        projector.run()
    assert not list(Path(projector.out).rglob("published.json"))


def test_a_purge_beside_the_run_is_named_first(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    projector.land(*(simple([number]) for number in range(3)))
    stage: Callable[..., Any] = job.stage

    def after_a_purge(*given: Any) -> Any:
        monkeypatch.undo()
        store, keys = open_store(projector.lake), StreamKeys(TAP, "orders")
        vacuum(store, keys, VacuumOptions())
        assert purge(store, keys, timedelta(0))
        return stage(*given)

    monkeypatch.setattr(job, "stage", after_a_purge)
    with pytest.raises(StaleSnapshot, match=r"a purge has removed it.* run it again"):
        projector.run()
    projector.run()
    assert projector.ids() == [0, 1, 2]
