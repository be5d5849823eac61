"""The target's settings: declared once, described for `--about`, read in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from singer_sdk import typing as th

from singerlake.errors import ConfigError
from singerlake.lake import LockTimes, WriterOptions
from singerlake.lake.identity import new_run_id
from singerlake.plugin import lineage
from target_singerlake.staged import stage

_OPTIONS, _TIMES = WriterOptions(), LockTimes()

SETTINGS: dict[str, Any] = th.PropertiesList(
    th.Property(
        "lake_root",
        th.StringType(nullable=False),
        required=True,
        title="Lake root",
        description="Where the lake is: a local folder, or an fsspec URL such as `s3://bucket/lake`.",
    ),
    th.Property(
        "tap_id",
        th.StringType,
        title="Tap id",
        description=(
            "Under which name the tap's data is kept, `<tap name>--<variant>`. Under Meltano it "
            "is taken from the extractor; elsewhere it is required."
        ),
    ),
    th.Property(
        "storage_options",
        th.ObjectType(additional_properties=True),
        secret=True,
        title="Storage options",
        description=(
            "Options of the fsspec file system, such as `key`, `secret` and "
            '`client_kwargs: {"endpoint_url": …}` for S3. Without them the usual environment '
            "variables and profiles count."
        ),
    ),
    th.Property(
        "max_file_bytes",
        th.IntegerType(minimum=1),
        default=_OPTIONS.max_file_bytes,
        title="Largest file",
        description="A file is closed and committed at about this many compressed bytes.",
    ),
    th.Property(
        "max_file_records",
        th.IntegerType(minimum=1),
        title="Most records in a file",
        description="A file is closed and committed at this many records; no limit if unset.",
    ),
    th.Property(
        "commit_interval_seconds",
        th.NumberType(minimum=0),
        default=300,
        title="Commit interval",
        description=(
            "Everything received is committed, and its STATE passed on, at least this often, "
            "and always at the end. Shorter: fresher state, smaller files."
        ),
    ),
    th.Property(
        "compression_level",
        th.IntegerType(minimum=1, maximum=9),
        default=_OPTIONS.compression_level,
        title="Compression level",
        description=(
            "1 to 3 are the fastest; from 4 on files get smaller, by about a tenth to a fifth, and "
            "landing slower, several times."
        ),
    ),
    th.Property(
        "lock_max_wait_seconds",
        th.NumberType(minimum=0),
        default=_TIMES.max_wait,
        title="Longest wait for a lock",
        description=(
            "How long to wait for another writer before giving up with an error. Longer than "
            "`lock_stale_after_seconds`."
        ),
    ),
    th.Property(
        "lock_stale_after_seconds",
        th.NumberType(minimum=1),
        default=_TIMES.stale_after,
        title="Lock is stale after",
        description=(
            "A lock that did not change for so long was left by a writer that died. Shorter than "
            "`lock_max_wait_seconds`."
        ),
    ),
    th.Property(
        "require_keys",
        th.BooleanType,
        default=True,
        title="Require keys",
        description=(
            "A record that lacks one of its stream's key properties ends the run, as in other "
            "targets. Off, the lake keeps such a record as it came."
        ),
    ),
    th.Property(
        "staged_files",
        th.StringType,
        title="Staged files",
        description=(
            "The folder, or fsspec URL, below which taps leave files that are to be stored: those "
            "that records name in properties marked `x-singerlake-file` in their schema. Unset, "
            "the marks are ignored."
        ),
    ),
    th.Property(
        "complete_without_state",
        th.BooleanType,
        default=False,
        title="Complete without STATE",
        description=(
            "For taps that never send STATE: count a run as complete whenever its input ends. A "
            "tap that died then looks complete too, unless `singerlake land` starts it."
        ),
    ),
    th.Property(
        lineage.SETTING,
        th.StringType,
        title="Lineage",
        description=lineage.OF_TARGET,
    ),
    th.Property(
        "validate_records",
        th.BooleanType,
        default=False,
        title="Validate records",
        description=(
            "Check every record against its schema, as other targets do by default. Off here, "
            "because a raw lake keeps what the tap sent. On, an invalid record ends the run, "
            "and landing takes the slow path."
        ),
    ),
).to_dict()

OF_OTHER_TARGETS = (
    "batch_size_rows",
    "default_target_schema",
    "hard_delete",
    "load_method",
    "process_activate_version_messages",
)
"""Settings of the SDK that say nothing here: a lake only appends."""

SECRET = {"secret": True, "writeOnly": True}
"""What marks a setting of the SDK as secret, as it marks those declared above."""

_CHANGE_RECORDS = ("stream_maps", "flattening_enabled", "add_record_metadata", "validate_records")


def needs_sdk(config: Mapping[str, Any]) -> bool:
    """True where a feature of the SDK is configured that changes or inspects records.

    Then every record is built as Python objects; otherwise lines pass as they are.
    """
    return any(config.get(name) for name in _CHANGE_RECORDS)


@dataclass(frozen=True)
class Destination:
    """Where a run lands."""

    lake_root: str
    storage_options: Mapping[str, Any]
    tap_id: str
    run_id: str


def destination(config: Mapping[str, Any]) -> Destination:
    """What the settings, and Meltano's environment, say. Raises `ConfigError`."""
    tap_id = config.get("tap_id") or _from_meltano()
    if not tap_id.strip("-"):
        raise ConfigError(
            "tap_id is not set, and MELTANO_EXTRACTOR_NAME is not there to tell: "
            "set tap_id to <tap name>--<variant>, such as tap-github--meltanolabs"
        )
    return Destination(
        config["lake_root"],
        config.get("storage_options") or {},
        tap_id,
        os.environ.get("MELTANO_RUN_ID") or new_run_id(),
    )


def _from_meltano() -> str:
    parts = (os.environ.get(f"MELTANO_EXTRACTOR_{what}", "") for what in ("NAME", "VARIANT"))
    return "--".join(part for part in parts if part)


def writer_options(config: Mapping[str, Any]) -> WriterOptions:
    """Raises `ConfigError`."""
    stale_after = float(config["lock_stale_after_seconds"])  # the SDK reads decimals
    max_wait = float(config["lock_max_wait_seconds"])
    if max_wait <= stale_after:
        raise ConfigError(
            f"lock_max_wait_seconds is {max_wait:g}: expected more than lock_stale_after_seconds, "
            f"{stale_after:g}, or nobody would wait long enough to take over the lock of a writer "
            "that died"
        )
    return WriterOptions(
        max_file_bytes=config["max_file_bytes"],
        max_file_records=config.get("max_file_records"),
        compression_level=config["compression_level"],
        lock=LockTimes(
            stale_after=stale_after,
            refresh_every=stale_after / 4,
            max_wait=max_wait,
        ),
        require_keys=config["require_keys"],
        stage=stage(prefix) if (prefix := config.get("staged_files")) else None,
    )
