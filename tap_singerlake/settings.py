"""The tap's settings: declared once, described for `--about`, read in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.lake.extent import ALL, COMPLETE, Extent, parse_as_of
from singerlake.plugin import declared, lineage
from singerlake.plugin.declared import SECRET, setting

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
        "Which tap's data to replay, `<tap name>--<variant>`. May be left out where the lake "
        "has one tap only.",
    ),
    storage_options=setting(
        "object",
        "Storage options",
        "Options of the fsspec file system, such as `key`, `secret` and `client_kwargs: "
        '{"endpoint_url": …}` for S3. Without them the usual environment variables and '
        "profiles count.",
        properties={},
        additionalProperties=True,
        **SECRET,
    ),
    start_time=setting(
        "string",
        "Start time",
        "Only records extracted at this time or later (`time_extracted`).",
        format="date-time",
    ),
    end_time=setting(
        "string",
        "End time",
        "Only records extracted before this time (`time_extracted`).",
        format="date-time",
    ),
    schema_versions=setting(
        ("string", "array"),
        "Schema versions",
        "`all`; `merged`: all, under one schema that holds the records of every version; "
        "`latest` (that of the newest file); or a list of schema hashes (`singerlake show` "
        "lists them).",
        items={"type": "string"},
        default="all",
    ),
    runs=setting(
        ("string", "array"),
        "Runs",
        "`all`; `last`: what the newest complete run of each stream committed; or run ids "
        "(`singerlake runs` lists them).",
        items={"type": "string"},
        default="all",
    ),
    run_outcomes=setting(
        "array",
        "Run outcomes",
        "How a run may have ended that `runs: last` takes: `complete` if unset, else some of "
        "`complete`, `ended`, `failed`, `stopped`, `open`, `lost`.",
        items={"type": ["string"]},
    ),
    as_of=setting(
        "string",
        "As of",
        "Replays the streams as they were: without what was committed after this time, this "
        "pin (`singerlake pins` lists them), this run (a run id), or this sequence number; "
        "`pin:` and `run:` before a name say which it is.",
    ),
    streams=setting(
        "array",
        "Streams",
        "Only these streams; all of the tap's if unset.",
        items={"type": ["string"]},
    ),
    files=setting(
        "string",
        "Files",
        "What records say of the files of any kind that they name: as `stored`, with the "
        "property that the tap sent; the `path` or URL in the lake, in that property; or, "
        "after a `fetch` to `files_folder`, the local path.",
        enum=["stored", "path", "fetch"],
        default="stored",
    ),
    files_folder=setting(
        "string",
        "Files folder",
        "Where `files: fetch` puts them, each once, by stream and hash.",
    ),
    **{lineage.SETTING: setting("string", "Lineage", lineage.OF_TAP)},
)


OF_THE_SDK = (
    "faker_config",
    "flattening_enabled",
    "flattening_max_depth",
    "flattening_max_key_length",
    "flattening_separator",
    "stream_map_config",
    "stream_maps",
)
"""Settings that the SDK declares, and that count here too."""

KNOWN = frozenset({*SETTINGS["properties"], *OF_THE_SDK})
_CUTTING = ("start_time", "end_time")


def defaults() -> dict[str, Any]:
    return declared.defaults(SETTINGS)


def plain(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings, where all are right beyond doubt, and every file that is asked for is passed
    on as it is stored.

    None where the SDK has to look: it says what is wrong in its own words, and builds records.
    """
    off = (*OF_THE_SDK, *_CUTTING, "batch_config")
    is_off = all(
        config.get(name) is None or (name == "flattening_enabled" and config[name] is False)
        for name in off
    )
    if not is_off or lineage.is_wanted(str(config.get(lineage.SETTING) or "")):
        return None
    if config.get("files", "stored") != "stored" or not declared.surely_fit(config, SETTINGS):
        return None
    return {**defaults(), **config}


@dataclass(frozen=True)
class FilesBack:
    """How files of any kind are given back: `stored`, `path` or `fetch`, and where to."""

    mode: str = "stored"
    folder: str = ""


def _files_back(config: Mapping[str, Any]) -> FilesBack:
    """Raises `ConfigError`."""
    mode, folder = config.get("files") or "stored", config.get("files_folder") or ""
    if mode not in ("stored", "path", "fetch"):
        raise ConfigError(f"files is {mode!r}: expected stored, path or fetch")
    if (mode == "fetch") != bool(folder):
        raise ConfigError("files_folder is the place of `files: fetch`: set both, or neither")
    return FilesBack(mode, folder)


WORDS = frozenset({"all", "merged", "latest"})
"""What `schema_versions` may be beside hashes."""


@dataclass(frozen=True)
class Window:
    """Which records to replay, by the time they were extracted, by their schema version, and by
    what committed them; and how files come `back` that they name.

    `versions` is one of `WORDS`, or the hashes themselves.
    """

    start: datetime | None
    end: datetime | None
    versions: str | frozenset[str]
    extent: Extent = ALL
    back: FilesBack = field(default_factory=FilesBack)

    @property
    def limits(self) -> list[str]:
        """The settings that leave something out."""
        asked = {
            "start_time": self.start is not None,
            "end_time": self.end is not None,
            "schema_versions": self.versions not in ("all", "merged"),
        }
        return [name for name, limits in asked.items() if limits]

    def holds(self, moment: datetime | None) -> bool:
        """Whether a record that was extracted at this moment is asked for."""
        if moment is None:
            return True
        return (self.start is None or moment >= self.start) and (
            self.end is None or moment < self.end
        )


def window(config: Mapping[str, Any]) -> Window:
    """Raises `ConfigError`."""
    start, end = _moment(config, "start_time"), _moment(config, "end_time")
    if start is not None and end is not None and start >= end:
        raise ConfigError(f"start_time {start} is not before end_time {end}: nothing would match")
    versions = _versions(config.get("schema_versions") or "all")
    return Window(start, end, versions, _extent(config), _files_back(config))


def _extent(config: Mapping[str, Any]) -> Extent:
    """What the settings ask for by run and as of when; from the environment runs are a list."""
    setting, as_of = config.get("runs") or "all", config.get("as_of")
    runs = (setting,) if isinstance(setting, str) else tuple(setting)
    if {"all", "last"} & set(runs) and len(runs) > 1:
        raise ConfigError(f"runs is {list(runs)}: `all` and `last` stand alone, without run ids")
    word: Any = runs[0] if runs[0] in ("all", "last") else runs
    outcomes = tuple(config.get("run_outcomes") or COMPLETE)
    return Extent(word, parse_as_of(str(as_of)) if as_of else None, outcomes)


def _versions(setting: str | list[str]) -> str | frozenset[str]:
    """A word of ours, or hashes; from the environment either comes as a list."""
    chosen = frozenset([setting] if isinstance(setting, str) else setting)
    words = chosen & WORDS
    if not words:
        return chosen
    if len(chosen) > 1:
        raise ConfigError(
            f"schema_versions is {sorted(chosen)}: `all`, `merged` and `latest` stand alone, "
            "without hashes"
        )
    return next(iter(words))


def _moment(config: Mapping[str, Any], name: str) -> datetime | None:
    text = config.get(name)
    if not text:
        return None
    try:
        # Python 3.10 does not know the Z of UTC.
        return times.in_utc(datetime.fromisoformat(str(text).replace("Z", "+00:00")))
    except (OverflowError, ValueError):  # the years 1 to 9999 are those in UTC
        raise ConfigError(
            f"{name} is {text!r}: expected a time such as 2026-11-16T00:00:00Z"
        ) from None
