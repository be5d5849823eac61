"""The lineage of a landing, where somebody asked for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from singerlake.format.run import Outcome
from singerlake.lake import Lake
from singerlake.plugin.lineage import SETTING, is_wanted

if TYPE_CHECKING:
    from singerlake.lineage.trace.landing import LandingTrace

OnEnd = Callable[[Outcome, str], None]
"""Is told how a run ended, and why."""


def begin(
    config: Mapping[str, Any], lake: Lake, tap_id: str, logger: logging.Logger
) -> LandingTrace | None:
    """None where nobody asked for lineage; then nothing of it is imported."""
    setting = str(config.get(SETTING) or "")
    if not is_wanted(setting):
        return None
    from singerlake.lineage.emitter.opening import open_emitter
    from singerlake.lineage.trace.landing import LandingTrace

    emitter = open_emitter(setting, logger)
    if emitter is None:
        return None
    # Flattening gives columns other names: which were made of which cannot be said then.
    maps = None if config.get("flattening_enabled") else config.get("stream_maps")
    return LandingTrace(emitter, lake, tap_id, maps)
