"""The lineage of a replay, where somebody asked for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from singer_sdk import Tap as Plugin
from singer_sdk.mapper import RemoveRecordTransform

from singerlake.format import catalogue
from singerlake.lake import Tap
from singerlake.plugin.lineage import SETTING, is_wanted
from tap_singerlake.stream import LakeStream

if TYPE_CHECKING:
    from singerlake.lineage.job.replay import ReplayedStream

NAME = "tap-singerlake"


@contextmanager
def traced(
    plugin: Plugin, source: Callable[[], Tap], streams: Sequence[LakeStream]
) -> Iterator[None]:
    """Around a replay of these streams. Imports nothing of lineage where nobody asked for it.

    `source` gives the tap whose data is replayed.
    """
    setting = str(plugin.config.get(SETTING) or "")
    emitter = None
    if is_wanted(setting):
        from singerlake.lineage.emitter.opening import open_emitter

        emitter = open_emitter(setting, plugin.logger)
    if emitter is None:
        yield
        return
    from singerlake.lineage.trace.replay import replaying

    def read() -> list[tuple[str, ReplayedStream]]:
        return [(one.replayed.log_id, _read(plugin, one)) for one in streams]

    with replaying(emitter, source(), _sender(), read):
        yield


def _sender() -> str:
    """What a target calls this tap: under Meltano by its name and variant there."""
    parts = (os.environ.get(f"MELTANO_EXTRACTOR_{what}", "") for what in ("NAME", "VARIANT"))
    return "--".join(part for part in parts if part) or NAME


def _read(plugin: Plugin, stream: LakeStream) -> ReplayedStream:
    from singerlake.lineage.job.replay import ReplayedStream

    # Flattening gives columns other names: which were made of which cannot be said then.
    flattens = bool(plugin.config.get("flattening_enabled"))
    rules = None if flattens else (plugin.config.get("stream_maps") or {}).get(stream.name)
    mask = {path: selected for path, selected in stream.mask.items() if len(path) == 2}
    selected = tuple(path[1] for path, is_selected in mask.items() if is_selected)
    maps = plugin.mapper.stream_maps.get(stream.name, ())
    aliases = [one.stream_alias for one in maps if not isinstance(one, RemoveRecordTransform)]
    counted = stream.replayed
    return ReplayedStream(
        name=stream.name,
        declared=catalogue.schema_of(stream.entry),
        sequence=counted.sequence,
        records=counted.records,
        bytes=counted.bytes,
        files=counted.files,
        aliases=tuple(dict.fromkeys(aliases)),
        selected=None if flattens or all(mask.values()) else selected,
        rules=rules if isinstance(rules, Mapping) else {},
    )
