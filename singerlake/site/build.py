"""Building the site: streams are read many at a time, and written one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.resources import files as package_files
from pathlib import Path

from singerlake.errors import SingerlakeError
from singerlake.lake import Lake, clock
from singerlake.lake.parallel import Progress, Steps, in_parallel, no_progress
from singerlake.site import folder, page, problems
from singerlake.site.chart import Chart, chart, daily
from singerlake.site.folder import Draft
from singerlake.site.found import FoundRows, section
from singerlake.site.lineage import NOTHING_KNOWN, LineageOf, drawing
from singerlake.site.pages import Pages
from singerlake.site.problems import Checked, Place, Problem, serious, worst_first
from singerlake.site.properties import properties
from singerlake.site.search_index import SearchIndex
from singerlake.site.snippets import snippets
from singerlake.site.survey import StreamFacts, survey
from singerlake.site.tables import tables
from singerlake.site.taps import TapFacts, taps
from singerlake.site.totals import StreamRow, TapRow, Totals
from singerlake.site.versions import compare
from singerlake.store import Store

STREAMS_A_PAGE = 200
"""A tap of more streams has several pages, each quick to open."""

PROBLEMS_SHOWN = 500
"""On the page of problems; a stream's own page has its own."""

DAYS = 60
"""Of the lake's and a tap's chart."""

CARD_DAYS = 30
"""Of the small chart on a tap's card."""


@dataclass(frozen=True)
class Built:
    """What was built: the answer for scripts, also kept beside the site."""

    title: str
    built: datetime
    pages: int
    taps: int
    streams: int
    properties: int
    files: int
    records: int
    bytes: int
    problems: int
    checked: datetime | None


def build(
    lake: Lake,
    out: Path,
    *,
    title: str = "",
    address: str = "",
    checked: Checked | None = None,
    outputs: Sequence[Store] = (),
    found: FoundRows | None = None,
    lineage: LineageOf | None = None,
    progress: Progress = no_progress,
) -> Built:
    """Write the site of a lake to a folder, in place of the site that is there.

    `address` is where readers of the pages find the lake, if not where it was opened. `outputs` are
    where projections of its streams are published. `found` are the rows of an index, which make a
    page to find days and runs on. `lineage` says where a stream came from, and what was made of it.
    Raises `ConfigError` where the folder holds anything but a site.
    """
    address = address or lake.store.url
    title = title or address.rstrip("/").rpartition("/")[2] or address
    with folder.writing(out) as draft:
        has_find = found is not None
        pages = Pages(title, address, clock.now(), has_find=has_find, status=lake.status())
        making = _Making(lake, draft, pages, checked, outputs, found, lineage)
        built = making.write(progress)
        draft.write(folder.MARK, folder.mark(**asdict(built)))
    return built


class _Making:
    """One build: what has been seen so far, as the pages that come last need it."""

    def __init__(
        self,
        lake: Lake,
        draft: Draft,
        pages: Pages,
        checked: Checked | None,
        outputs: Sequence[Store],
        found: FoundRows | None,
        lineage: LineageOf | None,
    ) -> None:
        self._lake, self._draft, self._pages, self._checked = lake, draft, pages, checked
        self._outputs, self._found, self._lineage = outputs, found, lineage
        self._index = SearchIndex()
        self._written = 0
        self._problems: dict[Place, list[Problem]] = defaultdict(list)
        for problem in problems.of_check(checked):
            self._problems[problem.place].append(problem)

    def write(self, progress: Progress) -> Built:
        found, wrong = taps(self._lake)
        self._problems[None, None] += wrong
        every = [(tap, name) for tap in found for name in tap.entries]
        surveys = in_parallel(lambda one: self._survey(*one), every)
        steps = Steps(progress, len(every))
        rows = [self._tap(tap, surveys, steps) for tap in found]
        totals = Totals()
        for row in rows:
            totals.add(row.totals)
        self._home(rows, totals)
        pages_of = {(tap.tap_id, name): tap.page_of(name) for tap, name in every}
        self._problems_page(pages_of)
        self._find_page(pages_of)
        self._other_files()
        return Built(
            title=self._pages.title,
            built=self._pages.built,
            pages=self._written,
            taps=len(found),
            streams=totals.streams,
            properties=totals.properties,
            files=totals.files,
            records=totals.records,
            bytes=totals.bytes,
            problems=serious(self._all_problems()),
            checked=self._checked.moment if self._checked else None,
        )

    def _survey(self, tap: TapFacts, name: str) -> StreamFacts:
        facts = survey(self._lake.stream(tap.tap_id, name), tap.entries[name])
        lineage = NOTHING_KNOWN
        if self._lineage is not None:
            with suppress(SingerlakeError):  # what is damaged is a problem of the stream already
                lineage = self._lineage(tap.tap_id, name)
        found = tables(self._outputs, tap.tap_id, name)
        return replace(facts, tables=found, lineage=lineage)

    def _tap(self, tap: TapFacts, surveys: Iterator[StreamFacts], steps: Steps) -> TapRow:
        """The pages of a tap and of its streams; `surveys` gives these next."""
        first = page.of_tap(tap.file_name)
        self._index.add_tap(tap.tap_id, first, tap.notes.description)
        totals = Totals()
        rows = []
        names = [None, *tap.entries, None]
        for before, after in zip(names, names[2:], strict=False):
            facts = next(surveys)
            rows.append(self._stream(tap, facts, before, after))
            totals.add_stream(rows[-1], facts.days)
            steps.step()
        self._problems[tap.tap_id, None] += tap.problems
        own = worst_first(self._problems[tap.tap_id, None])
        starts = range(0, max(1, len(rows)), STREAMS_A_PAGE)
        pages = [page.of_tap(tap.file_name, number) for number in range(1, len(starts) + 1)]
        for number, start in enumerate(starts, start=1):
            self._page(
                "tap.html",
                pages[number - 1],
                tap=tap,
                totals=totals,
                streams=rows[start : start + STREAMS_A_PAGE],
                chart=self._daily(totals, DAYS),
                days=DAYS,
                problems=own,
                number=number,
                pages=pages,
            )
        wrong = serious(own) + sum(row.problems for row in rows)
        return TapRow(tap.tap_id, first, tap.notes, totals, wrong)

    def _stream(
        self, tap: TapFacts, facts: StreamFacts, before: str | None, after: str | None
    ) -> StreamRow:
        place = (tap.tap_id, facts.name)
        root = self._lake.store.url
        self._problems[place] += problems.noticed(place, facts.problems, root)
        own = worst_first(self._problems[place])
        told, path = properties(facts.schema), tap.page_of(facts.name)
        names = [one.name for one in told]
        self._index.add_stream(tap.tap_id, facts.name, path, facts.description, names)
        self._page(
            "stream.html",
            path,
            tap=tap,
            tap_page=page.of_tap(tap.file_name),
            stream=facts,
            properties=told,
            comparison=compare(facts.versions),
            chart=chart(facts.arrivals),
            problems=own,
            checked=self._checked,
            lineage=drawing(facts.name, facts.lineage),
            neighbours=(*facts.lineage.sources, *facts.lineage.consumers),
            snippets=snippets(self._pages.address, tap.tap_id, facts.name),
            before=before and (before, tap.page_of(before)),
            after=after and (after, tap.page_of(after)),
        )
        return StreamRow(
            name=facts.name,
            page=path,
            description=facts.description,
            versions=facts.version_count,
            properties=len(told),
            files=facts.files,
            records=facts.records,
            bytes=facts.bytes,
            last_commit=facts.last_commit,
            problems=serious(own),
        )

    def _home(self, rows: list[TapRow], totals: Totals) -> None:
        self._page(
            "home.html",
            page.HOME,
            cards=[(row, self._daily(row.totals, CARD_DAYS)) for row in rows],
            card_days=CARD_DAYS,
            totals=totals,
            chart=self._daily(totals, DAYS),
            days=DAYS,
            checked=self._checked,
            problems=serious(self._all_problems()),
        )

    def _problems_page(self, pages_of: dict[tuple[str, str], str]) -> None:
        every = worst_first(self._all_problems())
        self._page(
            "problems.html",
            page.PROBLEMS,
            problems=every[:PROBLEMS_SHOWN],
            more=len(every) - PROBLEMS_SHOWN,
            pages_of=pages_of,
            checked=self._checked,
        )

    def _find_page(self, pages_of: dict[tuple[str, str], str]) -> None:
        if self._found is not None:
            self._page(
                "find.html",
                page.FIND,
                index=self._found.index,
                days=section(self._found.days),
                runs=section(self._found.runs),
                pages_of=pages_of,
            )

    def _all_problems(self) -> list[Problem]:
        return [problem for found in self._problems.values() for problem in found]

    def _daily(self, totals: Totals, days: int) -> Chart | None:
        return chart(daily(totals.days, self._pages.built.date(), days))

    def _page(self, template: str, path: str, **values: object) -> None:
        self._draft.write(path, self._pages.render(template, path, **values))
        self._written += 1

    def _other_files(self) -> None:
        self._draft.write(page.SEARCH_INDEX, self._index.script())
        for file in package_files("singerlake.site").joinpath("static").iterdir():
            self._draft.write(f"static/{file.name}", file.read_bytes())
