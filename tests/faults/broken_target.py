"""Broken variants of the target, as patches that run in its process: controls for real targets."""

from __future__ import annotations

from tests.faults.pipeline import Place, Tap, require_kept
from tests.faults.truth import Violation

EARLY = """
from target_singerlake import landing
take = landing.Landing.state
def early(self, value):
    take(self, value)
    landing._emit(value, self._log)
landing.Landing.state = early
# What comes out at its time too must not count again.
landing.Landing._pass_on = lambda self: None
"""

UNCONDITIONAL = """
from singerlake.store.s3_requests import S3Requests
put = S3Requests.put
def blind(self, key, data, *, if_absent=False, if_version=None):
    manifest = key.endswith("/manifest.json")
    return put(self, key, data, if_absent=if_absent, if_version=None if manifest else if_version)
S3Requests.put = blind
"""

UNLOCKED = """
import contextlib
from singerlake.lake import lock
lock.held = lambda *arguments, **named: contextlib.nullcontext()
"""
"""Not broken by itself: the lock is a courtesy. Without it a missing condition shows sooner."""

TRIES = 10


def is_lost(place: Place, *taps: Tap) -> bool:
    try:
        require_kept(place, *taps)
    except Violation as caught:
        return caught.kind == "LOST"
    return False
