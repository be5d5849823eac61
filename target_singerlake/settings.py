"""The target's settings: declared once, described for `--about`, read in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from singerlake.errors import ConfigError
from singerlake.lake import LockTimes, WriterOptions
from singerlake.lake.identity import new_run_id
from singerlake.plugin import declared, lineage
from singerlake.plugin.declared import SECRET, setting

if TYPE_CHECKING:
    from singerlake.lake.blobs.attaching import Stage

_OPTIONS, _TIMES = WriterOptions(), LockTimes()
_MOST_SECONDS = 1_000_000_000
"""Thirty years. Python's clocks and locks stumble over numbers that are not much longer."""

SETTINGS: dict[str, Any] = declared.settings(
    "lake_root",
    lake_root=setting(
        "string",
        "Lake root",
        "Where the lake is: a local folder, or an fsspec URL such as `s3://bucket/lake`.",
        is_required=True,
    ),
    tap_id=setting(
        "string",
        "Tap id",
        "Under which name the tap's data is kept, `<tap name>--<variant>`. Under Meltano it "
        "is taken from the extractor; elsewhere it is required.",
    ),
    storage_options=setting(
        "object",
        "Storage options",
        "Options of the fsspec file system, such as `key`, `secret` and "
        '`client_kwargs: {"endpoint_url": …}` for S3. Without them the usual environment '
        "variables and profiles count.",
        properties={},
        additionalProperties=True,
        **SECRET,
    ),
    max_file_bytes=setting(
        "integer",
        "Largest file",
        "A file is closed and committed at about this many compressed bytes.",
        default=_OPTIONS.max_file_bytes,
        minimum=1,
    ),
    max_file_records=setting(
        "integer",
        "Most records in a file",
        "A file is closed and committed at this many records; no limit if unset.",
        minimum=1,
    ),
    commit_interval_seconds=setting(
        "number",
        "Commit interval",
        "Everything received is committed, and its STATE passed on, at least this often, "
        "and always at the end. Shorter: fresher state, smaller files.",
        default=300,
        minimum=0,
        maximum=_MOST_SECONDS,
    ),
    compression_level=setting(
        "integer",
        "Compression level",
        "1 to 3 are the fastest; from 4 on files get smaller, by about a tenth to a fifth, and "
        "landing slower, several times.",
        default=_OPTIONS.compression_level,
        minimum=1,
        maximum=9,
    ),
    lock_max_wait_seconds=setting(
        "number",
        "Longest wait for a lock",
        "How long to wait for another writer before giving up with an error. Longer than "
        "`lock_stale_after_seconds`.",
        default=_TIMES.max_wait,
        minimum=0,
        maximum=_MOST_SECONDS,
    ),
    lock_stale_after_seconds=setting(
        "number",
        "Lock is stale after",
        "A lock that did not change for so long was left by a writer that died. Shorter than "
        "`lock_max_wait_seconds`.",
        default=_TIMES.stale_after,
        minimum=1,
        maximum=_MOST_SECONDS,
    ),
    require_keys=setting(
        "boolean",
        "Require keys",
        "A record that lacks one of its stream's key properties ends the run, as in other "
        "targets. Off, the lake keeps such a record as it came.",
        default=True,
    ),
    staged_files=setting(
        "string",
        "Staged files",
        "The folder, or fsspec URL, below which taps leave files that are to be stored: those "
        "that records name in properties marked `x-singerlake-file` in their schema. Unset, "
        "the marks are ignored.",
    ),
    complete_without_state=setting(
        "boolean",
        "Complete without STATE",
        "For taps that never send STATE: count a run as complete whenever its input ends. A "
        "tap that died then looks complete too, unless `singerlake land` starts it.",
        default=False,
    ),
    **{lineage.SETTING: setting("string", "Lineage", lineage.OF_TARGET)},
    validate_records=setting(
        "boolean",
        "Validate records",
        "Check every record against its schema, as other targets do by default. Off here, "
        "because a raw lake keeps what the tap sent. On, an invalid record ends the run, "
        "and landing takes the slow path.",
        default=False,
    ),
)

OF_OTHER_TARGETS = (
    "batch_size_rows",
    "default_target_schema",
    "hard_delete",
    "load_method",
    "process_activate_version_messages",
)
"""Settings of the SDK that say nothing here: a lake only appends."""

OF_THE_SDK = (
    "add_record_metadata",
    "batch_config",
    "faker_config",
    "flattening_enabled",
    "flattening_max_depth",
    "flattening_max_key_length",
    "flattening_separator",
    "stream_map_config",
    "stream_maps",
)
"""Settings that the SDK declares, and that count here too."""

_CHANGE_RECORDS = ("stream_maps", "flattening_enabled", "add_record_metadata", "validate_records")


def needs_sdk(config: Mapping[str, Any]) -> bool:
    """True where a feature of the SDK is configured that changes or inspects records.

    Then every record is built as Python objects; otherwise lines pass as they are.
    """
    return any(config.get(name) for name in _CHANGE_RECORDS)


KNOWN = frozenset({*SETTINGS["properties"], *OF_THE_SDK})


def defaults() -> dict[str, Any]:
    return declared.defaults(SETTINGS)


def plain(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings with their defaults, where all are right beyond doubt and none needs the SDK.

    None where the SDK has to look: it says what is wrong, in its own words.
    """
    if needs_sdk(config) or not declared.surely_fit(config, SETTINGS):
        return None
    if not all(_is_off(name, config.get(name)) for name in OF_THE_SDK):
        return None
    return defaults() | {name: value for name, value in config.items() if value is not None}


def _is_off(name: str, value: object) -> bool:
    return value is None or (value is False and name in _CHANGE_RECORDS)


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
        stage=_stage(config.get("staged_files")),
    )


def _stage(prefix: str | None) -> Stage | None:
    if not prefix:
        return None
    from target_singerlake.staged import stage  # and with it fsspec, which takes its time

    return stage(prefix)
