"""Lakes and their indexes, for the tests of `find`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from singerlake.index import open_index, rebuild_index
from singerlake.index.ingester import Ingester
from singerlake.lake import open_on
from singerlake.store import open_store
from tests.cli.lake import TAP, said
from tests.lake.landing import record_line, schema_line


def url_of(root: Path) -> str:
    return f"sqlite:///{root.parent / 'index.db'}"


def indexed(root: Path) -> str:
    """The address of an index of the lake as it is now."""
    with closing(open_index(url_of(root))) as storage:
        rebuild_index(storage, open_on(open_store(root)), lambda event: pytest.fail(event.error))
    return url_of(root)


def rows(*arguments: str | Path, code: int = 0) -> list[dict[str, Any]]:
    lines = said("find", *arguments, "--format", "json", code=code).splitlines()
    return [json.loads(line) for line in lines]


def land_more(root: Path, stream: str, numbers: Sequence[int], run_id: str = "run-9") -> None:
    with open_on(open_store(root), create=True).writer(TAP, run_id) as writer:
        writer.write(schema_line(stream))
        for number in numbers:
            writer.write(record_line(number * 86_400, stream))


def follow(root: Path) -> None:
    with closing(open_index(url_of(root))) as storage:
        Ingester(storage, open_on(open_store(root))).poll()
