"""An index's whole answer, stretch by stretch, is that of looking at every entry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from singerlake.cli import find_pages
from singerlake.cli.find_pages import entries_of
from singerlake.index import Entry, Position, Query, open_index
from singerlake.index.query import answer
from singerlake.index.storage.base import Storage
from tests.index.places import KINDS, new_url, postgresql
from tests.index.samples import HOUR, fill, queries

__all__ = ["postgresql"]

QUESTIONS = {"sqlite": 60, "postgresql": 15, "dynamodb": 4}


@pytest.fixture(params=KINDS)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    with closing(open_index(new_url(request, str(request.param), tmp_path))) as opened:
        yield opened


class Hasty:
    """A storage that says after the first page that there is no more."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    def page(self, query: Query, after: Position | None, limit: int) -> list[Entry]:
        return [] if after is not None else self._inner.page(query, after, limit)


def wrong(storage: Any, every: list[Entry], questions: int) -> int:
    """How many questions have another answer than by looking at every entry."""
    asked = islice(queries(seed=7), questions)
    return sum(list(entries_of(storage, one)) != answer(one, every) for one in asked)


@pytest.mark.parametrize(("page", "first"), [(3, 0), (7, HOUR), (5000, 10 * HOUR)])
def test_every_entry_comes_once_and_in_order(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, page: int, first: int
) -> None:
    monkeypatch.setattr(find_pages, "PAGE", page)
    monkeypatch.setattr(find_pages, "_FIRST", first)
    every = fill(storage, seed=page, count=20)
    assert wrong(storage, every, QUESTIONS[storage.url.partition(":")[0]]) == 0


def test_control_an_answer_that_ends_too_early_is_seen(tmp_path: Path) -> None:
    with closing(open_index(f"sqlite:///{tmp_path}/index.db")) as storage:
        assert wrong(Hasty(storage), fill(storage, seed=1), 20) > 0
