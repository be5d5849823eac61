"""The command: a thin door to replays that pass files on as they are stored.

Whatever needs the Singer SDK goes through its own door, and so does what may be wrong: the SDK
says so in its own words. See `target_singerlake.command`.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.plugin import output, thin
from singerlake.plugin.config import warn_of_unknown
from singerlake.plugin.log import make_plain
from singerlake.plugin.signals import heed_hangup
from tap_singerlake import plain_catalog, plan, settings, state_input
from tap_singerlake.run import Run
from tap_singerlake.source import chosen, source_of

NAME = "tap-singerlake"
_OPTIONS = ("config", "state", "catalog")


@dataclass(frozen=True)
class Asked:
    """What the command line asks for. `selected` is None without a catalog."""

    config: Mapping[str, Any]
    state: Mapping[str, Any]
    selected: Mapping[str, bool] | None


def main() -> None:
    """Errors that are the user's to mend are one line in the log."""
    line = thin.asked(NAME, sys.argv[1:], _OPTIONS)
    asked = None if line is None else _asked(line)
    if line is None or asked is None:
        from tap_singerlake.tap import main as main_of_the_sdk

        main_of_the_sdk()
        return
    output.wait_for_readers()
    make_plain()
    with thin.logging_as_the_sdk(NAME, line.log) as log:
        try:
            replay(asked, log)
        except SingerlakeError as error:
            log.error("%s: %s", type(error).__name__, error)
            sys.exit(1)
        except BrokenPipeError:
            raise
        except OSError as error:
            log.error("%s", error)
            output.mute()
            sys.exit(1)


def _asked(line: thin.Asked) -> Asked | None:
    """None where the SDK has to look."""
    states, catalogs = line.of("state"), line.of("catalog")
    if len(states) > 1 or len(catalogs) > 1:
        return None
    state = _state(states[0]) if states else {}
    catalog = thin.json_of(catalogs[0]) if catalogs else None
    if state is None or (catalogs and catalog is None):
        return None
    return plain(thin.config_of(line) or {}, state, catalog)


def plain(config: Mapping[str, Any], state: Any, catalog: Any) -> Asked | None:
    """What is asked, where all of it is right beyond doubt, and nothing needs the SDK.

    An empty state, and None as the catalog, are as if none was given.
    """
    try:
        checked = state_input.checked(state)
    except ConfigError:
        return None
    known = settings.plain(config)
    selected = None if catalog is None else plain_catalog.selected(catalog)
    if known is None or (selected is None) != (catalog is None):
        return None
    if not isinstance(checked, dict) or not state_input.is_plain(checked):
        return None
    return Asked(known, checked, selected)


def _state(path: str) -> Any:
    try:
        text = state_input.last_of(thin.text_of(path) or "")
    except ConfigError:
        return None
    return thin.parsed(text, parse_float=Decimal)


def replay(asked: Asked, log: logging.Logger) -> None:
    """One run, from its first line in the log to its last."""
    thin.log_begin(NAME, log)
    warn_of_unknown(asked.config, settings.KNOWN, log)
    window = settings.window(asked.config)
    run = Run(window, log)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.stop)
    heed_hangup(run.stop)
    source = source_of(asked.config)
    entries = dict(sorted(chosen(source, asked.config, window).items()))
    # Where a catalog does not have a stream, nobody selects it.
    selected = {name: asked.selected is None or asked.selected.get(name, False) for name in entries}
    run.state = _own(asked.state)
    if not isinstance(window.versions, str):
        streams = [source.stream(name) for name in entries if selected[name]]
        plan.require_versions([one.snapshot() for one in streams], window)
    state_input.warn_of_strangers(
        {
            "The state has a bookmark of": run.state.get("bookmarks", {}),
            "The catalog selects": [
                name for name, is_on in (asked.selected or {}).items() if is_on
            ],
        },
        entries,
        log,
    )
    state_input.warn_of_foreign_bookmarks(run.state, entries, log)
    if run.state:
        run.write_state()
    for name, entry in entries.items():
        if selected[name]:
            run.replay(source.stream(name), entry)
        else:
            log.info("Skipping deselected stream '%s'.", name)


def _own(state: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, without bookmarks that say nothing."""
    bookmarks = {name: dict(one) for name, one in state.get("bookmarks", {}).items() if one}
    return {"bookmarks": bookmarks} if bookmarks else {}


if __name__ == "__main__":
    main()
