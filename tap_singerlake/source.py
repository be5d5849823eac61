"""The tap whose data is replayed, and its streams that are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format.catalogue import Entry
from singerlake.format.nearest import did_you_mean
from singerlake.lake import Lake, Tap, open_on
from singerlake.lake.extent import require_streams
from singerlake.lake.write_guard import guarded
from singerlake.store import open_store
from tap_singerlake.settings import Window


def source_of(config: Mapping[str, Any]) -> Tap:
    """The tap that is set, or the only one there is. Raises `ConfigError`."""
    root = config["lake_root"]
    options = config.get("storage_options") or {}
    if tap_id := config.get("tap_id"):
        return Lake(guarded(open_store(root, options))).tap(tap_id)
    taps = open_on(open_store(root, options)).taps()
    if len(taps) != 1:
        names = ", ".join(tap.tap_id for tap in taps) or "none yet"
        raise ConfigError(f"tap_id is not set, and the lake's taps are: {names}; choose one")
    return taps[0]


def chosen(source: Tap, config: Mapping[str, Any], window: Window) -> dict[str, Entry]:
    """The catalogue's entries of the streams that are asked for: one request.

    Raises `ConfigError`.
    """
    entries = source.catalogue()
    wanted = config.get("streams") or list(entries)
    if not config.get("streams"):
        require_streams(source.store, source.tap_id, entries, window.extent.as_of)
    unknown = sorted(set(wanted) - entries.keys())
    if unknown:
        raise ConfigError(
            f"streams names {', '.join(unknown)}, and {source.tap_id!r} has only "
            f"{', '.join(sorted(entries))}.{did_you_mean(unknown[0], entries)}"
        )
    return {name: entries[name] for name in wanted}
