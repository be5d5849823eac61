"""From the target through the real proxy to a backend: every event is valid there, and arrives."""

from __future__ import annotations

from pathlib import Path

from singerlake.lineage.schema.open import open_validator
from tests.lineage.process import Process
from tests.lineage.receiver import receiving
from tests.lineage.test_emit import MANY, commits, emitted
from tests.target import driving
from tests.target.test_lineage import PATIENT


def test_the_proxy_takes_every_event_and_sends_it_on(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    with receiving() as backend:
        proxy = Process(tmp_path / "proxy", [backend.url])
        try:
            outcome = driving.run(MANY, root, lineage=proxy.url, patch=PATIENT)
            assert "Lineage: 6 events were sent" in outcome.log, outcome.log
            backend.wait_for(6)
        finally:
            proxy.stop()
        assert commits(backend.events) == commits(emitted(root))


def test_the_validator_of_the_proxy_finds_nothing_wrong(tmp_path: Path) -> None:
    """With a control: an event of ours that lacks something is seen."""
    driving.run(MANY, tmp_path / "lake")
    validator = open_validator()
    events = emitted(tmp_path / "lake")
    assert events
    for event in events:
        assert validator.problems(event) == []
    broken = events[0]
    del broken["run"]["facets"]["processing_engine"]["version"]
    assert validator.problems(broken)
    assert validator.fallbacks == 0
