"""Which commits each run of a DAG reads: from where the last run that succeeded has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from singerlake.errors import ConfigError
from singerlake.lake import Bookmark

MOST_RUNS = 20
"""Older runs that are cleared read what is new, as a new run does."""

SINCE = "new_commits_since"
"""In the configuration of a run: a sequence number, after which it reads."""


class Range(msgspec.Struct, frozen=True):
    """What a run reads. It is kept before the run reads, so that every task of the run, and every
    retry, reads the same."""

    run_id: str
    since: Bookmark | None
    until: Bookmark


class Ranges(msgspec.Struct, frozen=True):
    """`base` is where runs end that succeeded and are known no more."""

    base: Bookmark | None = None
    runs: tuple[Range, ...] = ()

    def of(self, run_id: str) -> Range | None:
        return next((one for one in self.runs if one.run_id == run_id), None)

    def since(self, has_succeeded: Callable[[str], bool]) -> Bookmark | None:
        """Where the last run that succeeded has ended; None for the beginning."""
        for one in reversed(self.runs):
            if has_succeeded(one.run_id):
                return one.until
        return self.base

    def add(self, new: Range) -> Ranges:
        return Ranges(new.since, (*self.runs, new)[-MOST_RUNS:])

    def to_json(self) -> dict[str, Any]:
        """Lists and objects alone: Airflow takes no tuples."""
        body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return body

    @staticmethod
    def parse(value: object) -> Ranges:
        """Raises `ConfigError`."""
        try:
            return msgspec.convert(value, Ranges)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ConfigError(
                f"expected what `new_commits` has kept in the asset's state, found another value "
                f"({error}): delete it to read everything once more"
            ) from None


def given_since(conf: Mapping[str, Any] | None) -> int | None:
    """The sequence number after which a run reads, if its configuration has one.

    Raises `ConfigError`.
    """
    value = (conf or {}).get(SINCE)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigError(
        f"expected a sequence number such as 0 as `{SINCE}` in the run's configuration, "
        f"found {value!r:.80}"
    )
