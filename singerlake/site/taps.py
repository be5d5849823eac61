"""The lake's taps as the site tells them: what people wrote, and which streams there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from singerlake.errors import BadName, CorruptDocument, DamageError, UnsupportedFormat
from singerlake.format import keys
from singerlake.format.catalogue import Entry
from singerlake.lake import Lake, discovery, registry
from singerlake.lake.parallel import in_parallel
from singerlake.site import page
from singerlake.site.notes import Notes, notes
from singerlake.site.problems import Problem, noticed
from singerlake.site.runs import RunFacts, recent_runs


@dataclass(frozen=True)
class TapFacts:
    """A tap, its streams with their catalog entries, and the file names of their pages."""

    tap_id: str
    file_name: str
    notes: Notes
    entries: Mapping[str, Entry]
    problems: tuple[Problem, ...] = ()
    files_of: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[RunFacts, ...] = ()

    def page_of(self, stream: str) -> str:
        return page.of_stream(self.file_name, self.files_of[stream])


def taps(lake: Lake) -> tuple[list[TapFacts], list[Problem]]:
    """All taps by name, and what is wrong with the lake document, if anything."""
    problems: list[Problem] = []
    annotations: Mapping[str, Mapping[str, Any]] = {}
    try:
        annotations = lake.annotations()
        tap_ids = [tap.tap_id for tap in lake.taps()]
    except CorruptDocument as error:
        problems = noticed((None, None), [str(error)], lake.store.url)
        tap_ids = registry.names_in(lake.store, keys.ROOT)
    names = page.file_names(tap_ids)

    def read(tap_id: str) -> TapFacts:
        return _tap(lake, tap_id, names[tap_id], annotations.get(tap_id, {}))

    return list(in_parallel(read, tap_ids)), problems


def _tap(lake: Lake, tap_id: str, file_name: str, annotations: Mapping[str, Any]) -> TapFacts:
    problems: list[Problem] = []
    entries: Mapping[str, Entry] = {}
    try:
        try:
            entries = discovery.catalogue_of(lake.store, tap_id)
        except CorruptDocument as error:
            problems = noticed((tap_id, None), [str(error)], lake.store.url)
            entries = discovery.catalogue_from_files(lake.store, tap_id)
    except (DamageError, BadName, UnsupportedFormat) as error:
        problems += noticed((tap_id, None), [str(error)], lake.store.url)
    runs: tuple[RunFacts, ...] = ()
    try:
        runs = recent_runs(lake.tap(tap_id), len(entries))
    except (DamageError, BadName, UnsupportedFormat) as error:
        problems += noticed((tap_id, None), [str(error)], lake.store.url)
    ordered = dict(sorted(entries.items()))
    files_of = page.file_names(ordered)
    return TapFacts(tap_id, file_name, notes(annotations), ordered, tuple(problems), files_of, runs)
