"""The options of a read, as Spark hands them over: all of them strings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from singerlake.decode.request import METADATA, STANDARD_METADATA, SchemaVersions, StreamRequest
from singerlake.errors import ConfigError
from singerlake.format.keys import StreamKeys
from singerlake.format.nearest import did_you_mean
from singerlake.format.record_type import Numbers
from singerlake.format.times import parse_time
from singerlake.lake.extent import ALL, COMPLETE, Extent, covered, parse_as_of
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store, open_store
from singerlake.store.address import password, public_url
from singerlake.store.sealed import literal_secrets

MAX_PARTITION_BYTES = 256 * 1024 * 1024

_KNOWN = frozenset(
    {
        "path", "tap", "stream", "columns", "metadata", "since", "until", "start", "end",
        "schemaversions", "maxmisfits", "mode", "numbers", "storage_options", "maxpartitionbytes",
        "minpartitions", "casesensitive", "maxfilespertrigger", "maxbytespertrigger",
        "activations", "exact", "pushfilters", "runs", "runid", "asof", "runoutcomes", "sequences",
    }
)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    """What to read, and how. `schema_versions` is all, latest, or hashes.

    With `activations`, the rows are the ACTIVATE_VERSION messages in place of the records. The
    columns in `exact` hold no doubles, as those of key properties. With `push_filters`, filters
    skip files, and the DataFrame is good for one query. `extent` is by run and as of a moment,
    `sequences` are ranges of sequence numbers. What may hold secrets is left out of the
    text form.
    """

    root: str
    tap: str
    stream: str
    columns: tuple[str, ...] | None = None
    metadata: tuple[str, ...] = ()
    since: int = 0
    until: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    schema_versions: SchemaVersions = "all"
    max_misfits: int | None = None
    numbers: Numbers = "double"
    case_sensitive: bool = False
    max_partition_bytes: int = MAX_PARTITION_BYTES
    min_partitions: int = 0
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    activations: bool = False
    exact: tuple[str, ...] = ()
    push_filters: bool = False
    extent: Extent = ALL
    sequences: tuple[tuple[int, int], ...] | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def keys(self) -> StreamKeys:
        return StreamKeys(self.tap, self.stream)

    def store(self) -> Store:
        return open_store(self.root, self.storage_options)

    @property
    def request(self) -> StreamRequest:
        """What is asked of the stream."""
        return StreamRequest(
            self.tap,
            self.stream,
            columns=self.columns,
            metadata=self.metadata,
            numbers=self.numbers,
            schema_versions=self.schema_versions,
            exact=self.exact,
            selection=self.selection(),
            max_misfits=self.max_misfits,
        )

    def request_within(self, selection: Selection) -> StreamRequest:
        """The same, of the commits that the options come to in the stream's log."""
        return replace(self.request, selection=selection)

    def selection(self) -> Selection:
        """The files that may hold wanted rows, as far as the options alone can tell."""
        return Selection(self.since, self.until, self.start, self.end, numbers=self.sequences)

    def covered(self, stream: Snapshot) -> Selection:
        """The same, where the options ask by run or as of a moment: that takes the stream's log."""
        found, asked = covered(stream, self.extent).selection, self.selection()
        ends = [number for number in (found.until, asked.until) if number is not None]
        numbers = found.numbers if asked.numbers is None else asked.numbers
        return replace(asked, until=min(ends, default=None), numbers=numbers)


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Read Spark's options. Raises `ConfigError`."""
    given = {_folded(name): value for name, value in options.items()}
    unknown = sorted(set(given) - _KNOWN)
    if unknown:
        raise ConfigError(
            f"the singerlake source has no option {', '.join(unknown)}; docs/spark.md lists them."
            f"{did_you_mean(unknown[0], _KNOWN)}"
        )
    versions: Any = given.get("schemaversions", "all")
    if versions not in ("all", "latest"):
        versions = names(versions)
    columns = names(given["columns"]) if "columns" in given else None
    metadata = _metadata(given.get("metadata", ""))
    if columns == () and not metadata:
        raise ConfigError("the option columns names none: name a column, or leave it out for all")
    return ReadOptions(
        root=absolute(required(given, "path", "the lake's address: .load(root)")),
        tap=required(given, "tap", "a tap id, as `singerlake ls` shows it"),
        stream=required(given, "stream", "a stream's name, as `singerlake ls` shows it"),
        columns=columns,
        metadata=metadata,
        since=number(given, "since", 0) or 0,
        until=number(given, "until"),
        start=_time(given, "start"),
        end=_time(given, "end"),
        schema_versions=versions,
        max_misfits=_max_misfits(given),
        numbers=cast(Numbers, _choice(given, "numbers", ("double", "decimal", "string"))),
        case_sensitive=_choice(given, "caseSensitive", ("false", "true")) == "true",
        max_partition_bytes=number(given, "maxPartitionBytes", MAX_PARTITION_BYTES, 1) or 1,
        min_partitions=number(given, "minPartitions", 0) or 0,
        max_files_per_trigger=number(given, "maxFilesPerTrigger", least=1),
        max_bytes_per_trigger=number(given, "maxBytesPerTrigger", least=1),
        activations=_choice(given, "activations", ("false", "true")) == "true",
        exact=names(given.get("exact", "")),
        push_filters=_choice(given, "pushFilters", ("false", "true")) == "true",
        extent=_extent(given),
        sequences=_ranges(given),
        storage_options=storage_options(given),
    )


def _extent(given: Mapping[str, str]) -> Extent:
    runs: Any = given.get("runs", "all")
    as_of, run_id = given.get("asof"), given.get("runid")
    if run_id is not None and runs != "all":
        raise ConfigError("the options runs and runId are given both: expected one of them")
    runs = runs if runs in ("all", "last") else names(runs)
    return Extent(
        runs if run_id is None else (run_id,),
        parse_as_of(as_of) if as_of else None,
        names(given.get("runoutcomes", "")) or COMPLETE,
    )


def _ranges(given: Mapping[str, str]) -> tuple[tuple[int, int], ...] | None:
    if "sequences" not in given:
        return None
    try:
        return msgspec.json.decode(given["sequences"], type=tuple[tuple[int, int], ...])
    except msgspec.MsgspecError:
        raise ConfigError(
            f"the option sequences is {given['sequences'][:80]!r}: expected ranges such as "
            "[[1, 5], [8, 8]]"
        ) from None


def _folded(name: str) -> str:
    """Options go regardless of case, and by the names of `read_stream` too."""
    lower = name.lower()
    return lower if lower in _KNOWN else lower.replace("_", "")


def absolute(root: str) -> str:
    """A local path as it is from every process's folder; a URL stays. Raises `ConfigError`."""
    if password(root):
        raise ConfigError(
            f"{public_url(root)}: a password in the address would stand in Spark's plans: "
            "give it in storage_options"
        )
    return root if "://" in root else str(Path(root).expanduser().absolute())


def names(text: str) -> tuple[str, ...]:
    """A list of names: as JSON, for names that hold a comma, or with commas between."""
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, list) and all(isinstance(name, str) for name in found):
            return tuple(found)
        raise ConfigError(f"expected a JSON list of names, found {text[:80]!r}")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def storage_options(given: Mapping[str, str]) -> dict[str, Any]:
    try:
        found = json.loads(given.get("storage_options") or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        # The text may hold a secret, so it is not repeated.
        raise ConfigError("storage_options is not a JSON object of fsspec's options")
    if secrets := literal_secrets(found):
        raise ConfigError(
            f"the option storage_options holds {', '.join(secrets)} word for word, and would go "
            "into Spark's plans and tasks: give it as singerlake.spark.lend(spark, "
            'storage_options), or write {"from_env": "NAME"} in the place of each secret and set '
            "these variables for the driver and the executors"
        )
    return found


def _metadata(text: str) -> tuple[str, ...]:
    if text.lower() in ("", "false"):
        return ()
    if text.lower() == "true":
        return STANDARD_METADATA
    wanted = names(text)
    unknown = sorted(set(wanted) - set(METADATA))
    if unknown:
        raise ConfigError(
            f"there is no metadata column {', '.join(unknown)}: expected some of "
            f"{', '.join(METADATA)}, or true"
        )
    return tuple(dict.fromkeys(wanted))


def required(given: Mapping[str, str], name: str, what: str) -> str:
    value = given.get(name, "")
    if not value:
        raise ConfigError(f"the singerlake source needs the option {name}: {what}")
    return value


def number(
    given: Mapping[str, str], name: str, default: int | None = None, least: int = 0
) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return default
    try:
        found = int(text)
    except ValueError:
        found = least - 1
    if found < least:
        raise ConfigError(f"the option {name} is {text!r}: expected a number from {least}")
    return found


def _max_misfits(given: Mapping[str, str]) -> int | None:
    """`mode` failfast is the older word for none."""
    failfast = _choice(given, "mode", ("permissive", "failfast")) == "failfast"
    return number(given, "maxMisfits", 0 if failfast else None)


def _time(given: Mapping[str, str], name: str) -> datetime | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"the option {name} is {text!r}: expected a time like 2026-11-16T02:54:14Z"
        ) from None


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of the choices, the first by default."""
    text = given.get(name.lower(), choices[0]).lower()
    if text not in choices:
        raise ConfigError(f"the option {name} is {text!r}: expected {' or '.join(choices)}")
    return text


def parallelism(min_partitions: int) -> int:
    """How many partitions to make where there is data for so many.

    The machine that plans does not know the cluster; the helpers give `minPartitions`.
    """
    return min_partitions or max(os.cpu_count() or 1, 2)
