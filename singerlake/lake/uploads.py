"""Files that many machines upload for one commit: each is noted first, so that nobody adopts it.

A file that no manifest names is adopted by a check, because its commit may have been interrupted.
Those of a job (a write by Spark) are not: a part of them is not what the job was to write, and
some hold what others hold too, because tasks are tried again. A note lies beside such a file from
before its upload until its job is over. So only the job names these files, and only the job
deletes some of them: whoever sees no note finds a file that nobody will delete, or none.

A commit may still be under way when its job is given up: the answer to its put is late, or its
process is, which was thought dead. `withdraw` therefore tells by an object that the job is over,
then gives the manifest a new version, and deletes only what that version does not hold. A commit
looks for the notes and for that object after it has read the manifest that it replaces. If it
looked too early, its put requires a version that is history.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from singerlake.errors import CommitConflict
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys, StreamObject
from singerlake.format.manifest import File, Manifest
from singerlake.lake import commit, log, retired
from singerlake.lake.inventory import Note
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.parallel import in_parallel
from singerlake.lake.snapshot import Bookmark
from singerlake.store import Store


def new_job() -> str:
    return uuid.uuid4().hex


def note(store: Store, keys: StreamKeys, job: str, path: str, writer_id: str, run_id: str) -> None:
    """Tell that a file at `path` will wait for the job's commit; call this before the upload."""
    about = {"writer_id": writer_id, "run_id": run_id}
    data = json.dumps(about).encode() + b"\n"
    commit.create_anew(store, keys.under(key_names.note_path(job, path)), data)


def notes(store: Store, keys: StreamKeys, job: str = "") -> Iterator[Note]:
    """The notes there are now, of one job or of all."""
    for listed in store.list(keys.under(key_names.uploads_folder(job))):
        item = key_names.parse(listed.key)
        if isinstance(item, StreamObject) and item.kind == "note":
            yield Note(listed.key, item.job, item.about, listed.modified)


def commit_job(
    store: Store,
    keys: StreamKeys,
    job: str,
    files: Sequence[File],
    digests: dict[str, str],
    since: Bookmark,
    writer_id: str,
    times: LockTimes,
) -> None:
    """Add all files of a job to the log, which was at `since` before the first was uploaded.

    Raises `CommitConflict`, and where the job was withdrawn it has changed nothing.
    """

    def require() -> None:
        noted = {one.file for one in notes(store, keys, job)}
        if "" in noted or not noted >= {file.path for file in files}:
            raise CommitConflict(
                f"{store.url}/{keys.folder}: the uploads of this write were taken back, by a purge "
                "that took it for dead or by Spark itself. Nothing was committed; write again"
            )

    among = partial(_after, since)
    commit.adopt(store, keys, files, digests, writer_id, times, among=among, require=require)


def _after(since: Bookmark, manifest: Manifest) -> Selection:
    """Where in the log files can be that were uploaded when it was at `since`."""
    return Selection(since=since.sequence if manifest.log_id == since.log_id else 0)


def clear(store: Store, keys: StreamKeys, job: str, committed: set[str], since: Bookmark) -> None:
    """After a commit: remove the notes, and what other attempts at the same tasks uploaded."""
    found = list(notes(store, keys, job))
    held = committed
    if any(one.file not in committed for one in found):
        manifest = log.read_head(store, keys).manifest
        held = held | _held(store, keys, manifest, _after(since, manifest))
    _delete(store, _left(keys, found, held))


def withdraw(
    store: Store, keys: StreamKeys, job: str, writer_id: str, times: LockTimes
) -> list[str]:
    """Remove what a job has uploaded, unless it is committed; returns the keys.

    Where the store keeps no conditions, call this only when no put can be under way any more.
    """
    if not any(notes(store, keys, job)):
        return []
    commit.create_anew(store, keys.under(key_names.withdrawal_path(job)), b"{}\n")
    head = commit.touch(store, keys, writer_id, times)
    left = _left(keys, list(notes(store, keys, job)), _held(store, keys, head.manifest))
    _delete(store, left)
    return [key for some in left for key in some]


def abandoned(found: Sequence[Note], limit: datetime) -> set[str]:
    """The jobs that have noted nothing since `limit`."""
    alive = {one.job for one in found if one.modified > limit}
    return {one.job for one in found} - alive


def left_by(store: Store, keys: StreamKeys, manifest: Manifest, found: Sequence[Note]) -> list[str]:
    """What `withdraw` would remove."""
    return [key for some in _left(keys, found, _held(store, keys, manifest)) for key in some]


def _held(
    store: Store, keys: StreamKeys, manifest: Manifest, among: Selection = EVERYTHING
) -> set[str]:
    """The paths that the log names, and those that its merges stand for."""
    rows = list(log.files(store, keys, manifest, among))
    documents = [row.merge.path for row in rows if row.merge is not None]
    merges = retired.read_all(store, keys, documents).values()
    return {row.path for row in rows} | {one.path for made in merges for one in made.retired}


def _left(keys: StreamKeys, found: Sequence[Note], held: set[str]) -> tuple[list[str], ...]:
    """What to delete, step by step: a note outlives its file, the withdrawal all notes."""
    files = [keys.under(one.file) for one in found if one.file and one.file not in held]
    return files, [one.key for one in found if one.file], [one.key for one in found if not one.file]


def _delete(store: Store, steps: Sequence[list[str]]) -> None:
    for step in steps:
        for _ in in_parallel(store.delete, step):
            pass
