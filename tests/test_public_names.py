"""The public surface: a name that is added or lost here is a decision, not an accident."""

from __future__ import annotations

import inspect

import singerlake
import singerlake.spark
from singerlake import errors, lake, store

SINGERLAKE = {
    "Bookmark",
    "Committed",
    "Cursor",
    "Event",
    "Failed",
    "Feed",
    "FeedOptions",
    "File",
    "Follower",
    "Increment",
    "Lake",
    "Lost",
    "Renumbered",
    "Replaced",
    "RunEnded",
    "Selection",
    "SingerlakeError",
    "Snapshot",
    "Stream",
    "Tap",
    "Writer",
    "WriterOptions",
    "check",
    "open_lake",
    "rebuild",
}

SPARK = {
    "Conflict",
    "count",
    "current",
    "java_home",
    "lend",
    "merge_report",
    "published_files",
    "read_current",
    "read_files",
    "read_stream",
    "read_table",
    "read_tap",
    "register",
    "session",
}

# Each error's nearest ancestor: callers catch by group.
ERRORS = {
    "SingerlakeError": "Exception",
    "ConfigError": "SingerlakeError",
    "BadLocation": "ConfigError",
    "BadCursor": "ConfigError",
    "BadQuery": "ConfigError",
    "NotALake": "ConfigError",
    "UnknownTap": "ConfigError",
    "UnknownStream": "ConfigError",
    "PermissionDenied": "ConfigError",
    "UnsupportedFormat": "ConfigError",
    "StaleBookmark": "ConfigError",
    "InputError": "SingerlakeError",
    "BadMessage": "InputError",
    "BadFile": "InputError",
    "BadName": "InputError",
    "BadNotification": "InputError",
    "BadUpload": "InputError",
    "MissingKey": "InputError",
    "InvalidRecord": "InputError",
    "RecordBeforeSchema": "InputError",
    "SchemaCollision": "InputError",
    "TooManyMisfits": "InputError",
    "DamageError": "SingerlakeError",
    "CorruptDocument": "DamageError",
    "CorruptFile": "DamageError",
    "MissingFile": "DamageError",
    "MissingManifest": "DamageError",
    "MissingCommits": "DamageError",
    "BusyError": "SingerlakeError",
    "LockTimeout": "BusyError",
    "CommitConflict": "BusyError",
    "Pinned": "BusyError",
    "ReadOnly": "BusyError",
    "StaleSnapshot": "BusyError",
    "StoreError": "SingerlakeError",
    "NotFound": "StoreError",
    "AlreadyExists": "StoreError",
    "Changed": "StoreError",
    "Unsupported": "StoreError",
    "Unavailable": "StoreError",
    "OutcomeUnknown": "Unavailable",
    "ServiceError": "SingerlakeError",
    "NoAnswer": "ServiceError",
    "BacklogFull": "BusyError",
    "BadEvent": "InputError",
    "Fenced": "BusyError",
    "Later": "BusyError",
}

METHODS = {
    "Lake": {
        "annotate",
        "annotations",
        "feed",
        "lake_id",
        "pin",
        "pins",
        "set_read_only",
        "set_writable",
        "status",
        "stream",
        "tap",
        "taps",
        "unpin",
        "writer",
    },
    "Tap": {"catalogue", "runs", "stream", "streams"},
    "Stream": {"increment", "snapshot"},
    "Snapshot": {
        "blocks",
        "by_listing",
        "commits",
        "files",
        "gaps",
        "knows",
        "last_sequence",
        "lines",
        "log_id",
        "newest_file",
        "pack",
        "records",
        "schema_in_use",
        "totals",
        "versions",
    },
    "Increment": {
        "blocks",
        "bookmark",
        "capped",
        "events",
        "files",
        "is_empty",
        "lost",
        "selection",
        "up_to",
        "within",
    },
    "Feed": {"close", "cursor", "hint", "poll"},
    "Follower": {"hint", "look", "read"},
    "Writer": {
        "append",
        "append_records",
        "attach",
        "close",
        "commit",
        "end",
        "flush",
        "keys_of",
        "landed",
        "schema",
        "streams",
        "write",
    },
}


def public(item: object) -> set[str]:
    return {name for name in vars(item) if not name.startswith("_")}


def test_what_singerlake_offers() -> None:
    assert set(singerlake.__all__) == SINGERLAKE
    assert all(hasattr(singerlake, name) for name in SINGERLAKE)


def test_what_singerlake_spark_offers() -> None:
    assert set(singerlake.spark.__all__) == SPARK
    assert all(inspect.getdoc(getattr(singerlake.spark, name)) for name in SPARK)


def test_what_its_classes_offer() -> None:
    for name, methods in METHODS.items():
        assert public(getattr(singerlake, name)) == methods, name


def test_every_error_stands_in_its_group() -> None:
    found = {
        name: item.__bases__[0].__name__
        for name, item in vars(errors).items()
        if inspect.isclass(item) and issubclass(item, Exception)
    }
    assert found == ERRORS


def test_every_error_and_every_public_name_is_described() -> None:
    for name in ERRORS:
        assert getattr(errors, name).__doc__
        assert f" {name} " in f"{errors.__doc__} ".replace("\n", " \n "), name
    for module in (singerlake, lake, store):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), name
