"""Restore: after a backup was put back, the log, the files, and all that knows of them agree again.

Each stream's log is held against its files, its marker, the tap's runs, the pins, and the places of
consumers. Where it is shorter than they prove, what is there is adopted, and a new log begins. It
continues the old one as far as that is proven: so every consumer goes on, or notices.
"""

from __future__ import annotations

from collections.abc import Sequence

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import keys as key_names
from singerlake.format import marker
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import (
    acceptance,
    check_stream,
    evidence,
    inventory,
    log,
    newer_formats,
    pins,
    rebuilding,
    registry,
    repair,
)
from singerlake.lake.check_documents import check_documents
from singerlake.lake.check_markers import check_markers
from singerlake.lake.finding import CheckReport, Finding
from singerlake.lake.inventory import Inventory, ListedFile, StreamInventory
from singerlake.lake.parallel import Progress, Steps, no_progress
from singerlake.lake.rebuild_report import RebuildReport
from singerlake.lake.restore_report import Restored, RestoreReport, State
from singerlake.lake.shortened import Place, Places
from singerlake.store import Store

NO_LOG = frozenset({"manifest-missing", "manifest-corrupt"})


def restore(
    store: Store,
    tap_id: str | None = None,
    stream: str | None = None,
    progress: Progress = no_progress,
) -> RestoreReport:
    """Restore the lake, one tap of it, or one stream of a tap. A stream of which all agrees is left
    alone; a stream or a tap that is gone is not expected any more."""
    found = inventory.take_known(store, tap_id, stream)
    newer_formats.refuse(store, found)
    missing = list(check_markers(store, found, tap_id, stream))
    places = _places(store, found)
    report = RestoreReport(
        missing_taps=[one.key for one in missing if one.code == "tap-missing"],
        documents=[f"{one.key}: {one.message}" for one in check_documents(store, found)],
    )
    steps = Steps(progress, found.file_count())
    for keys in sorted(
        {*found.streams, *_known(store, found, tap_id, stream)},
        key=lambda one: (one.tap_id, one.stream),
    ):
        one = found.streams.get(keys, StreamInventory(keys))
        mine = places.get((keys.tap_id, keys.stream), [])
        stands = _stand(store, one, mine, [each for each in missing if each.key == keys.manifest])
        report.streams.append(stands)
        if stands.state not in ("whole", "gone"):
            _mend(store, one, stands, mine, report, steps)
    _documents(store, found, report)
    acceptance.accept(store, found, tap_id, stream, missing)
    return report


def _places(store: Store, found: Inventory) -> Places:
    taps = sorted(found.tap_ids())
    return evidence.joined(evidence.with_markers(store, taps), evidence.of_readers(store, taps))


def _known(
    store: Store, found: Inventory, tap_id: str | None, stream: str | None
) -> list[StreamKeys]:
    """The streams that have a marker, whether anything of them is there or not."""
    known = []
    for tap in found.tap_ids() | ({tap_id} if tap_id is not None else set()):
        try:
            entries = registry.read_catalogue(store, tap) or {}
        except CorruptDocument:
            continue
        known += [
            StreamKeys(tap, name)
            for name, entry in entries.items()
            if stream in (None, name) and marker.of(entry) is not None
        ]
    return known


def _stand(
    store: Store, found: StreamInventory, places: Sequence[Place], missing: Sequence[Finding]
) -> Restored:
    """How a stream's log stands to its files, and to what is known of it."""
    keys, checked = found.keys, CheckReport()
    looked = list(check_stream.check_stream(store, found, checked, places))
    newer = [each for each in looked if isinstance(each.file, ListedFile)]
    rows = [each.file for each in looked if isinstance(each.file, File)]
    named = {row.path for row in rows} - found.files.keys()
    named |= {row.merge.path for row in rows if row.merge is not None} - found.merges.keys()
    # What was committed since the listing is there by now.
    gone = [path for path in named if not _is_there(store, keys.under(path))]
    wrong = [*checked.findings, *missing]
    codes = {one.code for one in wrong}
    state: State = "whole"
    if "stream-missing" in codes:
        state = "gone"
    elif codes & NO_LOG:
        state = "no log"
    elif "log-shorter" in codes:
        state = "shorter"
    elif gone:
        state = "missing files"
    elif newer:
        state = "newer files"
    reasons = [one.message for one in wrong if one.code in {*NO_LOG, "log-shorter"}]
    return Restored(
        tap_id=keys.tap_id,
        stream=keys.stream,
        state=state,
        last_sequence=None if state in ("gone", "no log") else _end(store, keys),
        newer_files=len(newer),
        missing_files=len(gone),
        reasons=tuple(dict.fromkeys([*reasons, *(one.message for one in missing)])),
    )


def _is_there(store: Store, key: str) -> bool:
    try:
        store.size(key)
    except NotFound:
        return False
    return True


def _end(store: Store, keys: StreamKeys) -> int | None:
    try:
        return log.read_head(store, keys).manifest.last_sequence
    except (NotFound, CorruptDocument):
        return None


def _mend(
    store: Store,
    found: StreamInventory,
    stands: Restored,
    places: Sequence[Place],
    report: RestoreReport,
    steps: Steps,
) -> None:
    keys = found.keys
    # Where a backup was put back, the numbers that these files get may have been those of others.
    by_files = stands.newer_files > 0
    done, _ = rebuilding.rebuild_stream(store, found, steps, places, by_files)
    _add(report, done)
    if done.renumbered or done.continued or done.gone:
        report.unpinned += [f"{pin} in {keys.folder}" for pin in pins.broken(store, keys)]


def _add(report: RestoreReport, done: RebuildReport) -> None:
    report.began_anew += [*done.continued, *(f"{folder} up to 0" for folder in done.renumbered)]
    report.adopted += done.adopted
    report.recorded += done.gone
    report.skipped += done.skipped


def _documents(store: Store, found: Inventory, report: RestoreReport) -> None:
    """Have what is there, and what was put back, in the catalogues and in the lake document."""
    wrong = {one.key for one in check_documents(store, found)}
    mended = {one.tap_id for one in report.streams if one.state != "whole"}
    with_streams = {keys.tap_id for keys in found.streams}
    for tap in sorted(found.tap_ids()):
        if key_names.catalogue(tap) in wrong or tap in mended & with_streams:
            report.set_aside += repair.complete_catalogue(store, tap)
    if key_names.LAKE_DOCUMENT in wrong:
        report.set_aside += repair.repair_lake_document(store, found)
