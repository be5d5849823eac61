"""Whether lineage is wanted: a look at the settings, before anything of it is imported."""

from __future__ import annotations

import os

SETTING = "lineage"

_WHERE = (
    "Where OpenLineage events about the run go: the address of a receiver, such as "
    "`http://127.0.0.1:8080` (`singerlake lineage proxy` is one), or an openlineage.yml; {}`off`: "
    "nowhere. If unset, `OPENLINEAGE_CONFIG` and `OPENLINEAGE_URL` say. Lineage never delays or "
    "fails a run."
)
OF_TARGET = _WHERE.format("")
OF_TAP = _WHERE.format("`lake`: nowhere, and the lake only notes who replayed what; ")


def is_wanted(setting: str | None) -> bool:
    """Whether the setting or the environment names a place for events."""
    environment = os.environ
    named = setting or environment.get("OPENLINEAGE_CONFIG") or environment.get("OPENLINEAGE_URL")
    return bool(named) and environment.get("OPENLINEAGE_DISABLED", "").strip().lower() != "true"
