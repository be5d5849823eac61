"""Processes for tests, forked from a clean one that has loaded everything: a hundredth of a
second each, where Python and the store's libraries take a second to start.
"""

from __future__ import annotations

import multiprocessing

# It sets what is loaded for itself; a process has one such list.
import benchmarks.load

fork = multiprocessing.get_context("forkserver")
fork.set_forkserver_preload(
    [
        benchmarks.load.__name__,
        "tests.faults.test_kills",
        "tests.faults.test_feed_kills",
        "tests.faults.rounds",
        "s3fs",
    ]
)
