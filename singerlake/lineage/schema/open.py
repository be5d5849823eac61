"""A validator of what is at hand: the installed package, or a folder of official files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from singerlake.lineage.schema import derived, spec_folder
from singerlake.lineage.schema.facet import GROUPS, Group
from singerlake.lineage.schema.validator import Validator


def open_validator(spec: Path | None = None, groups: Collection[Group] = GROUPS) -> Validator:
    """Raises `ConfigError`."""
    return Validator(derived.facets() if spec is None else spec_folder.facets(spec), groups)
