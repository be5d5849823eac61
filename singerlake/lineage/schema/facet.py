"""Facet schemas: by the group and key that a facet stands under, in all versions known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Group = Literal["run", "job", "dataset", "input", "output"]
GROUPS: tuple[Group, ...] = get_args(Group)
DELETABLE: frozenset[Group] = frozenset({"job", "dataset"})
"""A facet of these may say `_deleted: true`, and then nothing else."""

Schema = dict[str, Any]
Version = tuple[int, int, int]

_VERSION = re.compile(r"/(\d{1,9})-(\d{1,9})-(\d{1,9})/[^/]*\.json")


def version_of(address: str) -> Version | None:
    """The version in `…/spec/facets/1-2-0/SchemaDatasetFacet.json#…`."""
    found = _VERSION.search(address)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


@dataclass(frozen=True)
class Facet:
    group: Group
    key: str
    version: Version
    schema: Schema


@dataclass(frozen=True)
class Facets:
    """`documents` are what the schemas refer to, by their addresses."""

    by_place: dict[tuple[Group, str], dict[Version, Schema]]
    documents: dict[str, Schema] = field(default_factory=dict)

    def newest(self, group: Group, key: str) -> Version:
        return max(self.by_place[group, key])


def collected(facets: Iterable[Facet], documents: dict[str, Schema] | None = None) -> Facets:
    """A facet that comes again takes the place of the earlier one."""
    by_place: dict[tuple[Group, str], dict[Version, Schema]] = {}
    for one in facets:
        by_place.setdefault((one.group, one.key), {})[one.version] = one.schema
    return Facets(by_place, documents or {})
