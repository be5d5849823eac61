"""The options of a read of a table about the lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format.nearest import did_you_mean
from singerlake.lake import Lake, open_on
from singerlake.lake.unknown import missing_stream
from singerlake.spark import options as read_options
from singerlake.spark.tables.columns import TABLES
from singerlake.store import open_store

OPTION = "table"

_KNOWN = ("table", "path", "tap", "stream", "storage_options", "minPartitions")


@dataclass(frozen=True)
class TableOptions:
    """Which table of which lake; of one tap and one stream, or of all of them (None)."""

    table: str
    root: str
    tap: str | None = None
    stream: str | None = None
    min_partitions: int = 0
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def taps(self) -> list[str] | None:
        return None if self.tap is None else [self.tap]

    @property
    def streams(self) -> list[str] | None:
        return None if self.stream is None else [self.stream]

    def lake(self) -> Lake:
        return Lake(open_store(self.root, self.storage_options))

    def existing_lake(self) -> Lake:
        """The same. Raises `NotALake`, `UnknownTap` or `UnknownStream` where there is none."""
        lake = open_on(open_store(self.root, self.storage_options))
        if self.tap is not None:
            known = lake.tap(self.tap).catalogue()
            if self.stream is not None and self.stream not in known:
                raise missing_stream(lake.store, self.tap, self.stream, known)
        return lake


def is_asked(given: Mapping[str, str]) -> bool:
    """Whether these options of the source ask for a table about the lake."""
    return any(name.lower() == OPTION for name in given)


def parse(options: Mapping[str, str]) -> TableOptions:
    """Read Spark's options. Raises `ConfigError`."""
    given = {name.lower(): value for name, value in options.items()}
    given = {"minpartitions" if n == "min_partitions" else n: v for n, v in given.items()}
    table = given.get(OPTION, "").lower()
    if table not in TABLES:
        raise ConfigError(
            f"the option table is {table!r}: expected {', '.join(TABLES)}."
            f"{did_you_mean(table, TABLES)} Without it, the source reads the records of a stream"
        )
    unknown = sorted(set(given) - {name.lower() for name in _KNOWN})
    if unknown:
        raise ConfigError(
            f"the table {table} has no option {', '.join(unknown)}: expected some of "
            f"{', '.join(_KNOWN)}. Choose rows by their columns, with where()"
        )
    return TableOptions(
        table=table,
        root=read_options.absolute(read_options.required(given, "path", "the lake's address")),
        tap=given.get("tap") or None,
        stream=given.get("stream") or None,
        min_partitions=read_options.number(given, "minPartitions", 0) or 0,
        storage_options=read_options.storage_options(given),
    )
