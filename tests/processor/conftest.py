"""Engines for tests; each server starts when a test first asks for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from singerlake.processor import Engine, MemoryEngine, open_engine
from tests.processor.servers import Cluster, Server, require_redis, run_cluster, run_server

KINDS = ["sqlite", "memory", "valkey", "redis", "cluster"]


@pytest.fixture(scope="session")
def valkey() -> Iterator[Server]:
    with run_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    with run_server(require_redis()) as server:
        yield server


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with run_cluster() as made:
        yield made


def new_namespace() -> str:
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    kind = request.param
    if kind == "sqlite":
        made = open_engine(f"sqlite:///{tmp_path}/work.db", synchronous="normal", backlog=1000)
    elif kind == "memory":
        made = MemoryEngine(backlog=1000)
    else:
        fixture = {"valkey": "valkey", "redis": "redis_server", "cluster": "cluster"}[kind]
        url = request.getfixturevalue(fixture).url
        made = open_engine(url, namespace=new_namespace(), backlog=1000)
    with made:
        yield made


@pytest.fixture(scope="session")
def shared_valkey(valkey: Server) -> Server:
    """For Hypothesis, which runs many examples of one test."""
    return valkey
