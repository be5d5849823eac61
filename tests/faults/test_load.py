"""Many writers that never pause, each a process: what the benchmark measures is also all there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.load import LOADS, Found, Load, measure, write_until
from tests.faults.broken_target import UNCONDITIONAL, UNLOCKED
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.servers import S3Server

THESE = scaled((Load("4 writers on 2 streams", 4, 2),), LOADS)
SECONDS = scaled(3.0, 60.0)


def measured(
    server: S3Server, load: Load, is_enough: Callable[[Found], bool], *write: Callable[..., None]
) -> Found:
    """For longer where need be: on a busy machine seconds go by before the first commit."""
    for seconds in (SECONDS, 4 * SECONDS, 16 * SECONDS):
        found = measure(server, load, seconds, *write)
        if is_enough(found):
            break
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("load", THESE, ids=lambda load: load.name)
def test_under_load_every_commit_is_there_once(load: Load, seaweedfs: S3Server) -> None:
    line = Line("Load", load.name, "tests/faults/test_load.py", bounds=f"for {SECONDS:.0f} s")
    found = measured(seaweedfs, load, lambda found: len(found.latencies) >= load.writers)
    assert [told.error for told in found.told if told.error] == []
    assert (found.missing, found.errors) == (0, 0)
    line.runs = len(found.latencies)
    assert line.runs >= load.writers
    line.keep()


def write_blindly(*arguments: Any) -> None:
    """In a process of its own: whoever puts the manifest last is right."""
    exec(UNLOCKED + UNCONDITIONAL, {})
    write_until(*arguments)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_control_an_unconditional_put_is_seen(seaweedfs: S3Server) -> None:
    line = Line("Load", "control: an unconditional put", "tests/faults/test_load.py -k control")
    load = Load("4 writers on one stream", 4, 1)
    found = measured(seaweedfs, load, lambda found: found.missing > 0, write_blindly)
    line.runs = len(found.latencies)
    line.control(found.missing > 0)
