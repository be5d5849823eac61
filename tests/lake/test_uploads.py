"""Jobs: many uploads and one commit, beside adoption, rebuilds, crashes, lost answers and purges.

Whatever happens, the files of a job are in the lake all or not at all, and what the lake names is
there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from singerlake.errors import CommitConflict, OutcomeUnknown, SingerlakeError
from singerlake.format.keys import FileName, file_path
from singerlake.format.manifest import File
from singerlake.format.message import decode_schema
from singerlake.format.times import stamp
from singerlake.lake import Bookmark, check, commit, log, rebuild, source, uploads
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, Store
from tests.lake.faulty_store import (
    MANIFEST_REPLACE,
    Crashing,
    Died,
    Gate,
    Hooked,
    Intercepting,
    LosingAnswers,
    Lost,
    Pausing,
    Result,
)
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    STREAM,
    assert_clean,
    codes,
    copy_of,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    record_line,
    schema_hash,
    schema_line,
    singer_file,
    time_of,
)

AT_ONCE = timedelta(0)
SCHEMA = decode_schema(schema_line())
DIGESTS = {SCHEMA.hash(): SCHEMA.digest()}


class Job:
    """A job of two tasks; of the first there are two attempts, and the second of them counts."""

    def __init__(self, store: Store, job: str = "") -> None:
        self.store, self.id = store, job or uploads.new_job()
        manifest = log.read_head(store, KEYS).manifest
        self.since = Bookmark(manifest.log_id, manifest.last_sequence)
        self.files: list[File] = []

    def upload(self, number: int, attempt: int = 0) -> File:
        name = FileName(STREAM, time_of(number), time_of(number), f"{attempt:08x}")
        path, data = file_path(schema_hash(), name), [schema_line(), record_line(number)]
        uploads.note(self.store, KEYS, self.id, path, "w", "r")
        self.store.create(KEYS.under(path), singer_file(data))
        facts = source.examine(self.store, KEYS.under(path), name)
        return source.entry(path, name, facts)

    def upload_all(self) -> None:
        self.upload(1)
        self.files = [self.upload(1, attempt=1), self.upload(2)]

    def commit(self) -> None:
        self.commit_only()
        committed = {file.path for file in self.files}
        uploads.clear(self.store, KEYS, self.id, committed, self.since)

    def commit_only(self) -> None:
        uploads.commit_job(self.store, KEYS, self.id, self.files, DIGESTS, self.since, "w", PATIENT)

    def withdraw(self) -> None:
        uploads.withdraw(self.store, KEYS, [self.id], "w", PATIENT)

    def run(self) -> None:
        self.upload_all()
        self.commit()

    def fail(self) -> None:
        self.upload_all()
        self.withdraw()


def lake() -> Store:
    store = new_store()
    land(store, [0])
    return store


def singer_files(store: Store) -> list[str]:
    return objects_in(store, ".singer.gz")


def notes_in(store: Store) -> list[str]:
    return [key for key in objects_in(store) if "_uploads" in key]


def purge_all(store: Store) -> None:
    purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE)


def test_a_job_is_one_commit_and_leaves_the_note_of_what_is_not_committed() -> None:
    store = lake()
    Job(store).run()
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)
    assert len(singer_files(store)) == 3
    assert [key.endswith("-00000000.singer.gz.json") for key in notes_in(store)] == [True]
    purge_all(store)
    assert notes_in(store) == []
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)


def test_a_failed_job_leaves_notes_until_the_purge() -> None:
    store = lake()
    before = objects_in(store)
    Job(store).fail()
    assert sorted(set(objects_in(store)) - set(before)) == notes_in(store)
    assert_clean(store)
    purge_all(store)
    assert objects_in(store) == before


class Hanging(Intercepting):
    """Uploads of a record are sent, and arrive when a test says so: nobody waits for an answer."""

    def __init__(self, inner: Store, number: int) -> None:
        super().__init__(inner)
        self._part = f"-{stamp(time_of(number))}-"
        self.arrive: Callable[[], object] = lambda: None

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if method == "create" and key.endswith(".singer.gz") and self._part in key:
            self.arrive = call
            raise OutcomeUnknown("hangs on purpose")
        return call()


@pytest.mark.parametrize("after", [Job.commit, Job.withdraw])
@pytest.mark.parametrize("what", ["fix", "rebuild"])
def test_an_upload_that_arrives_when_its_job_is_over_is_never_adopted(
    after: Callable[[Job], None], what: str
) -> None:
    store = lake()
    hanging = Hanging(store, 3)
    job = Job(hanging)
    job.upload_all()
    with pytest.raises(OutcomeUnknown):
        job.upload(3)
    after(job)
    before = numbers_in(store)
    hanging.arrive()
    assert codes(check(store)) == ["orphan-upload"]
    mend(store) if what == "fix" else rebuild(store)
    assert numbers_in(store) == before
    purge(store, KEYS, AT_ONCE)  # too young
    assert codes(check(store)) == ["orphan-upload"]
    purge_all(store)
    assert numbers_in(store) == before
    assert_clean(store)
    assert (len(singer_files(store)), notes_in(store)) == (len(before), [])


class Between(Intercepting):
    """Does something after the N-th request."""

    def __init__(self, inner: Store, at: int, what: Callable[[], object]) -> None:
        super().__init__(inner)
        self.left, self.what = at, what

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        result = call()
        self.left -= 1
        if self.left == 0:
            self.what()
        return result


def mend(store: Store) -> None:
    check(store, fix=True, times=QUICK)


def mend_and_vacuum(store: Store) -> None:
    mend(store)
    vacuum(store, KEYS, VacuumOptions(lock=QUICK))


def purge_at_once(store: Store) -> None:
    purge(store, KEYS, AT_ONCE)


@pytest.mark.parametrize("what", [mend, rebuild, mend_and_vacuum, purge_at_once])
@pytest.mark.parametrize(("work", "expected"), [(Job.run, [0, 1, 2]), (Job.fail, [0])])
def test_others_may_mend_the_lake_at_any_moment(
    what: Callable[[Store], object], work: Callable[[Job], None], expected: list[int]
) -> None:
    start = lake()
    at = 0
    while True:
        at += 1
        inner = copy_of(start)
        store = Between(inner, at, lambda inner=inner: what(inner))  # type: ignore[misc]
        work(Job(store))
        assert numbers_in(inner) == expected, at
        assert_clean(inner)
        if store.left > 0:
            break
    assert at > 10


@pytest.mark.parametrize("work", [Job.run, Job.fail])
@pytest.mark.parametrize("after", [False, True])
def test_a_job_that_dies_is_there_whole_or_not_at_all(
    work: Callable[[Job], None], after: bool
) -> None:
    start = lake()
    at = 0
    while True:
        at += 1
        inner = copy_of(start)
        store = Crashing(inner, at, after)
        try:
            work(Job(store))
        except Died:
            pass
        else:
            break
        mend(inner)
        assert numbers_in(inner) in ([0], [0, 1, 2]), at
        assert set(codes(check(inner))) <= {"orphan-upload"}
        purge(inner, KEYS, AT_ONCE, abandoned=AT_ONCE)
        assert numbers_in(inner) in ([0], [0, 1, 2]), at
        assert_clean(inner)
        assert len(singer_files(inner)) == len(numbers_in(inner))
        assert notes_in(inner) == []


@pytest.mark.parametrize("first", [mend, rebuild])
def test_a_running_job_is_not_adopted(first: Callable[[Store], object]) -> None:
    store = lake()
    job = Job(store)
    job.upload_all()
    assert codes(check(store)) == ["orphan-upload"] * 3
    first(store)
    assert numbers_in(store) == [0]
    job.commit()
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)


def test_a_lost_answer_is_a_commit_and_withdrawing_keeps_it() -> None:
    """The commit raises, so Spark aborts; the put was applied all the same."""
    store = lake()
    losing = LosingAnswers(store, Lost(MANIFEST_REPLACE, SingerlakeError))
    job = Job(losing)
    job.upload_all()
    with pytest.raises(SingerlakeError):
        job.commit()
    job.withdraw()
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)
    assert len(singer_files(store)) == 3


def test_a_lost_answer_is_found_to_be_a_commit() -> None:
    store = lake()
    job = Job(LosingAnswers(store, Lost(MANIFEST_REPLACE, OutcomeUnknown)))
    job.run()
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)


@pytest.mark.parametrize("purged", [False, True])
def test_a_commit_that_sleeps_while_its_job_is_given_up_is_refused(purged: bool) -> None:
    store = lake()
    gate = Gate(MANIFEST_REPLACE)
    job = Job(Pausing(store, gate))
    job.upload_all()
    with ThreadPoolExecutor(1) as threads:
        committing = threads.submit(job.commit)
        gate.wait()
        if purged:
            purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE)
        else:
            uploads.withdraw(store, KEYS, [job.id], "w", PATIENT)
        gate.open()
        with pytest.raises(CommitConflict, match="taken back"):
            committing.result()
    assert numbers_in(store) == [0]
    assert_clean(store)


def test_a_commit_that_wakes_in_the_middle_of_a_withdrawal_is_refused() -> None:
    """After the manifest has its new version, and before the files are gone."""
    store = lake()
    job = Job(store)
    job.upload_all()

    def wake() -> None:
        with pytest.raises(CommitConflict, match="taken back"):
            job.commit_only()

    hooked = Hooked(store, MANIFEST_REPLACE, wake)
    uploads.withdraw(hooked, KEYS, [job.id], "w", PATIENT)
    assert hooked.happened
    assert numbers_in(store) == [0]
    assert_clean(store)


def test_what_a_rebuild_without_a_manifest_took_is_not_taken_twice_and_not_deleted() -> None:
    """Nothing tells then what was committed; and a vacuum may have merged it since."""
    for give_up in (False, True):
        store = lake()
        job = Job(store)
        job.upload_all()
        store.delete(KEYS.manifest)
        rebuild(store)
        vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
        if give_up:
            job.withdraw()
        else:
            job.commit()
        assert sorted(numbers_in(store)) == [0, 1, 1, 2]
        assert_clean(store)
        assert len(singer_files(store)) == 5  # the merged one, and what it was made from


def test_nothing_is_deleted_where_the_manifest_cannot_be_read() -> None:
    store = lake()
    job = Job(store)
    job.upload_all()
    before = singer_files(store)
    store.delete(KEYS.manifest)
    with pytest.raises(SingerlakeError):
        job.withdraw()
    assert singer_files(store) == before


def test_a_purge_leaves_a_young_job_alone_and_tells_what_it_would_remove() -> None:
    store = lake()
    job = Job(store)
    job.upload_all()
    assert purge(store, KEYS, AT_ONCE) == []
    told = purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE, dry_run=True)
    assert len(told) == 6
    assert set(told) <= set(objects_in(store))
    removed = purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE)
    assert set(removed) > set(told)
    assert not set(removed) & set(objects_in(store))
    assert_clean(store)


def test_a_stream_that_is_written_for_the_first_time_is_no_error() -> None:
    store = new_store()
    land(store, [0], stream="other")
    commit.open_log(store, KEYS, "w")
    Job(store).upload_all()
    assert codes(check(store)) == ["orphan-upload"] * 3


def test_a_job_costs_the_same_in_a_stream_of_any_size() -> None:
    costs = []
    for count in (10, 510):  # and neither has a segment due
        inner = new_store()
        land_each(inner, range(100, 100 + count))
        store = Counting(inner)
        Job(store).run()
        costs.append(dict(store.counts))
    assert costs[0] == costs[1]
    assert costs[0]["list"] == 2
