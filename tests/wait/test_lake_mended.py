"""A lake that was damaged, and mended while somebody waits."""

from __future__ import annotations

from datetime import datetime, timezone

from singerlake.errors import CorruptDocument
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import FAN_OUT
from singerlake.lake.runs import log
from singerlake.wait import LakeRun
from tests.lake.landing import TAP, new_store
from tests.lake.running import land_run
from tests.wait.test_lake_source import waiter


def test_a_segment_that_is_brought_back_ends_the_error() -> None:
    """The log that names it stays as it is."""
    store, keys = new_store(), RunKeys(TAP)
    for number in range(2 * FAN_OUT + 1):
        land_run(store, f"run {number}", [number])
    (segment,) = log.read_head(store, keys).log.segments
    key = keys.under(segment.path)
    data = store.read(key).data
    store.delete(key)
    wait = waiter(store, LakeRun(tap=TAP, since=datetime(2026, 1, 1, tzinfo=timezone.utc)))
    assert isinstance(wait.look().standings[0].error, CorruptDocument)
    store.create(key, data)
    assert wait.look().is_done
