"""A connection to an SQL database, as far as an index needs one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Values = Mapping[str, Any]


class Connection(Protocol):
    """Statements have parameters such as `:name`."""

    def using(self, index: str) -> str:
        """What stands behind a table's name to say which index is meant; "" says nothing."""

    def rows(self, sql: str, values: Values) -> list[Sequence[Any]]:
        """All rows of an answer."""

    def stream(self, sql: str, values: Values) -> Iterator[Sequence[Any]]:
        """The rows of a long answer, a few at a time."""

    def run(self, sql: str, values: Values) -> None:
        """A statement without an answer."""

    def run_many(self, sql: str, values: Sequence[Values]) -> None:
        """A statement for each of these."""

    def lock(self, sql: str, values: Values) -> list[Sequence[Any]]:
        """The rows of an answer, which no other transaction changes until this one is over."""
