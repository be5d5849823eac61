"""The command job, stopped with its processor."""

from __future__ import annotations

import threading
from pathlib import Path

from singerlake.cli.process.job.command import CommandJob
from singerlake.processor import MemoryEngine, Processor
from tests.lake.locking import until


def test_a_command_that_is_stopped_before_its_processor_has_not_failed(tmp_path: Path) -> None:
    """A signal to a whole group of processes reaches the command first, now and then."""
    job = CommandJob(["sh", "-c", f"touch {tmp_path}/ended; exit 143"])
    with MemoryEngine() as engine:
        engine.add("k", 1)
        processor = Processor(engine, job.process_event, concurrency=1)
        thread = threading.Thread(target=processor.run)
        thread.start()
        until((tmp_path / "ended").exists)
        threading.Event().wait(0.1)
        processor.stop()
        thread.join()
        found = engine.look("k")
        assert (found.status, found.deliveries) == ("ready", 0)
