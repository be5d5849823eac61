"""Fixtures that every test may use. A server starts when a test first asks for it, per worker."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest

from tests.servers import S3Server, run_moto, run_seaweedfs

# Machines that run tests are busy: a slow example is no failure, pytest's timeout is enough.
hypothesis.settings.register_profile("singerlake", deadline=None, print_blob=True)
hypothesis.settings.load_profile("singerlake")

# A Java that lives for seconds has no use for its best compiler, which takes half of a query.
for _options in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(_options, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


# Slow to make, and made in each worker that has a test which asks for it: so one worker has all.
SHARED = ("projector", "spark", "cluster", "browser", "site", "service", "many")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        asked_for = getattr(item, "fixturenames", ())
        group = next((name for name in SHARED if name in asked_for), None)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


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
