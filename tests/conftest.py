"""Fixtures that every test may use. A server starts when a test first asks for it, per worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.servers import S3Server, run_moto, run_seaweedfs

# Machines that run tests are busy: a slow example is no failure, pytest's timeout is enough.
hypothesis.settings.register_profile("singerlake", deadline=None, print_blob=True)
hypothesis.settings.load_profile("singerlake")

# A Java that lives for seconds has no use for its best compiler, which takes half of a query.
for _options in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(_options, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


# Tests by what they share and is slow to make: one worker has all of a group. By their names, for
# the marks that xdist goes by (its `loadgroup`) are lost on the way with pytest 9.2.
READS, WRITES = "a session of Spark that reads", "a session of Spark that writes"
GROUPS = {
    **{f"tests/spark/test_{name}": WRITES for name in ("cluster", "pins", "project", "write")},
    **{
        f"tests/spark/test_{name}": READS
        for name in ("damage", "read", "skipping", "streaming", "vacuum_beside", "verify", "views")
    },
    "tests/plugins/test_postgres_current": WRITES,
    "tests/docs/test_costs.py::test_jobs_of_spark": WRITES,
    "tests/docs/test_permissions.py::test_the_projection": WRITES,
    "tests/docs/test_site": "the site of the docs",
    "tests/faults/test_outages": "an S3 server that goes away",
    "tests/index/api/": "an index that is served",
    "tests/index/notification/": "queues and topics",
    "tests/meltano/test_meltano_run": "a project of Meltano",
    "tests/site/test_in_browser": "a browser",
}


class ByGroup(LoadScopeScheduling):
    """The largest group first, then the others one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return next((GROUPS[start] for start in GROUPS if nodeid.startswith(start)), nodeid)


@pytest.hookimpl(optionalhook=True)  # without xdist there is one worker
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup:
    return ByGroup(config, log)


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[S3Server]:
    """A real S3 server whose conditional writes are atomic: for races, crashes and locks."""
    with run_seaweedfs() as server:
        yield server


@pytest.fixture(scope="session")
def moto_server() -> Iterator[S3Server]:
    """A light S3 server whose conditional writes are not atomic: for one writer at a time."""
    with run_moto() as server:
        yield server
