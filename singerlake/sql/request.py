"""What is asked of a lake in SQL: where it is, and how its streams are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from singerlake.decode.request import METADATA
from singerlake.errors import ConfigError
from singerlake.format.record_type import Numbers
from singerlake.format.run import OUTCOMES
from singerlake.lake import Lake, open_on
from singerlake.lake.extent import COMPLETE, AsOf, Extent, Runs, parse_as_of
from singerlake.lake.replication import METHODS, Method
from singerlake.store import Store, open_store

Mode = Literal["append", "current", "last_run"]
MODES: tuple[Mode, ...] = get_args(Mode)

USUAL_METADATA = tuple(
    name for name in METADATA if name not in ("_record", "_corrupt_record", "_files")
)


@dataclass(frozen=True)
class SqlRequest:
    """A lake, and how its streams are read: `mode` and `numbers` as in a projection.

    `published` is the output of `singerlake project`, whose tables are views too. `metadata` names
    the columns about a record that every stream has. `as_of` leaves out what was committed later
    than a time, a pin, a run or, of each stream, a sequence number. `replication_method` says how
    the tap sends its streams, for `current`, and `run_outcomes` which runs may be the last one.
    What may hold secrets is left out of the text form.
    """

    root: str | Path
    published: str | Path | None = None
    mode: Mode = "append"
    numbers: Numbers = "double"
    as_of: AsOf | None = None
    replication_method: Method | None = None
    run_outcomes: tuple[str, ...] = COMPLETE
    metadata: tuple[str, ...] = USUAL_METADATA
    max_misfits: int | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    published_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _require("mode", [self.mode], MODES)
        _require("numbers", [self.numbers], get_args(Numbers))
        _require("run_outcomes", self.run_outcomes, OUTCOMES)
        if self.replication_method is not None:
            _require("replication_method", [self.replication_method], METHODS)
        _require("metadata", self.metadata, METADATA)

    @property
    def extent(self) -> Extent:
        """Which commits of each stream are read."""
        runs: Runs = "last" if self.mode == "last_run" else "all"
        return Extent(runs, self.as_of, self.run_outcomes)

    def lake(self) -> Lake:
        """Raises `BadLocation` and `NotALake`."""
        return open_on(open_store(self.root, self.storage_options))

    def output(self) -> Store | None:
        """The store of the published tables."""
        if self.published is None:
            return None
        return open_store(self.published, self.published_options)


def sql_request(root: str | Path, **options: Any) -> SqlRequest:
    """The request with these options. Raises `ConfigError` for a value that it does not have."""
    if isinstance(metadata := options.get("metadata"), bool):
        options["metadata"] = USUAL_METADATA if metadata else ()
    elif metadata is not None:
        options["metadata"] = tuple(metadata)
    if "run_outcomes" in options:
        options["run_outcomes"] = tuple(options["run_outcomes"])
    if isinstance(as_of := options.get("as_of"), str):
        options["as_of"] = parse_as_of(as_of)
    given = {name: value for name, value in options.items() if value is not None}
    return SqlRequest(root, **given)


def _require(option: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    unknown = [value for value in given if value not in allowed]
    if unknown:
        raise ConfigError(
            f"the option {option} cannot be {', '.join(map(repr, unknown))}: it is one of "
            f"{', '.join(allowed)}"
        )
