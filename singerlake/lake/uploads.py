"""Files that many machines upload for one commit: each is noted first, so that nobody adopts it.

A file that no manifest names is adopted by a check, because its commit may have been interrupted.
Those of a job (a write by Spark) are not: a part of them is not what the job was to write, and
some hold what others hold too, because tasks are tried again. A note lies beside such a file from
before its upload until the file is committed. So only the job names these files, and only the job
deletes some of them: whoever sees no note finds a file that nobody will delete, or none.

An upload may arrive when its job is long over, committed or not. So the note of a file that is not
committed stays, until a purge finds it so old that no request can be under way any more.

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
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys, StreamObject
from singerlake.format.manifest import File, Manifest
from singerlake.format.schema import Schema
from singerlake.lake import commit, log, retired
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.inventory import Note
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store


def new_job() -> str:
    return uuid.uuid4().hex


def begin(store: Store, keys: StreamKeys, schema: Schema, writer_id: str) -> Bookmark:
    """Where the stream's log ends as a job begins. The manifest comes before the first file.

    Raises `SchemaCollision` and `MissingManifest`.
    """
    manifest = commit.open_log(store, keys, writer_id).manifest
    manifests.require_same_schema(manifest, schema.hash(), schema.digest())
    return Bookmark(manifest.log_id, manifest.last_sequence)


def note(store: Store, keys: StreamKeys, job: str, path: str, writer_id: str, run_id: str) -> str:
    """Tell that a file at `path` will wait for the job's commit; call this before the upload.

    Returns the note's key.
    """
    about = {"writer_id": writer_id, "run_id": run_id}
    data = json.dumps(about).encode() + b"\n"
    key = keys.under(key_names.note_path(job, path))
    commit.create_anew(store, key, data)
    return key


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

    among = partial(_after, store, keys, since)
    commit.adopt(store, keys, files, digests, writer_id, times, among=among, require=require)


def _after(store: Store, keys: StreamKeys, since: Bookmark, manifest: Manifest) -> Selection:
    """Where in the log files can be that were uploaded when it was at `since`."""
    return log.behind(store, keys, manifest, since.log_id, since.sequence)


def clear(store: Store, keys: StreamKeys, job: str, committed: set[str], since: Bookmark) -> None:
    """After a commit: remove its notes, and what other attempts at the same tasks uploaded."""
    found = list(notes(store, keys, job))
    held = committed
    if any(one.file not in committed for one in found):
        manifest = log.read_head(store, keys).manifest
        held = held | _held(store, keys, manifest, _after(store, keys, since, manifest))
    _delete(store, (_uncommitted(keys, found, held), _noting(found, held)))


def withdraw(
    store: Store, keys: StreamKeys, jobs: Sequence[str], writer_id: str, times: LockTimes
) -> list[str]:
    """Remove what jobs have uploaded and not committed; returns the keys. Their notes stay.

    Where the store keeps no conditions, call this only when no put can be under way any more.
    """
    begun = [job for job in jobs if any(notes(store, keys, job))]
    if not begun:
        return []
    for job in begun:
        commit.create_anew(store, keys.under(key_names.withdrawal_path(job)), b"{}\n")
    head = commit.touch(store, keys, writer_id, times)
    found = [one for job in begun for one in notes(store, keys, job)]
    held = _held(store, keys, head.manifest)
    return _delete(store, (_uncommitted(keys, found, held), _noting(found, held)))


def forget(
    store: Store, keys: StreamKeys, jobs: Sequence[str], writer_id: str, times: LockTimes
) -> list[str]:
    """Remove all that is left of jobs, notes and all; returns the keys.

    For jobs that are `abandoned`: what is uploaded later would be taken for a lost commit.
    """
    removed = withdraw(store, keys, jobs, writer_id, times)
    found = [one for job in jobs for one in notes(store, keys, job)]
    return removed + _delete(store, _notes_last(found))


def abandoned(found: Sequence[Note], limit: datetime) -> list[str]:
    """The jobs that have noted nothing since `limit`."""
    alive = {one.job for one in found if one.modified > limit}
    return sorted({one.job for one in found} - alive)


def left_by(store: Store, keys: StreamKeys, manifest: Manifest, found: Sequence[Note]) -> list[str]:
    """What `forget` would remove."""
    files = _uncommitted(keys, found, _held(store, keys, manifest))
    return [key for some in (files, *_notes_last(found)) for key in some]


def _held(
    store: Store, keys: StreamKeys, manifest: Manifest, among: Selection = EVERYTHING
) -> set[str]:
    """The paths that the log names, and those that its merges stand for."""
    rows = list(log.files(store, keys, manifest, among))
    documents = [row.merge.path for row in rows if row.merge is not None]
    merges = retired.read_all(store, keys, documents).values()
    return {row.path for row in rows} | {one.path for made in merges for one in made.retired}


def _uncommitted(keys: StreamKeys, found: Sequence[Note], held: set[str]) -> list[str]:
    return [keys.under(one.file) for one in found if one.file and one.file not in held]


def _noting(found: Sequence[Note], held: set[str]) -> list[str]:
    """The notes that have told what they had to: their files are in the lake."""
    return [one.key for one in found if one.file in held]


def _notes_last(found: Sequence[Note]) -> tuple[list[str], list[str]]:
    """The withdrawal outlives all notes: a commit that misses one of them is refused."""
    return [one.key for one in found if one.file], [one.key for one in found if not one.file]


def _delete(store: Store, steps: Sequence[list[str]]) -> list[str]:
    """Step by step, because a note outlives its file; returns all the keys."""
    for step in steps:
        for _ in in_parallel(store.delete, step):
            pass
    return [key for step in steps for key in step]
