"""The store, the way to it, the disk or the credentials fail under a real target.

It retries and goes on, or ends with one clear line and a code that is not zero; no STATE tells of
what is not committed, and the next run goes on from the last one that came out.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults import proxy as proxies
from tests.faults.broken_target import EARLY, TRIES, UNCONDITIONAL, is_lost
from tests.faults.pipeline import (
    Place,
    Run,
    Start,
    Tap,
    finish,
    lake_folder,
    require_kept,
    running,
)
from tests.faults.proxy import Fault, Proxy, proxied
from tests.faults.result import Line
from tests.faults.scale import scaled, unable
from tests.servers import S3Server, Service, run_seaweedfs_service
from tests.target.driving import COMMAND, PATIENCE, forked, patched, started

SUITE = "Outages"
THIS = "tests/faults/test_outages.py"

IMPATIENT = {"config_kwargs": {"read_timeout": 3}}
"""Storage options under which an answer that takes longer is a lost one."""


@pytest.fixture
def start() -> Start:
    return forked


def require_refused(run: Run) -> str:
    """It ended by itself, with one line that tells why; returns that line."""
    code = run.process.wait(PATIENCE)
    run.close()
    log = run.log()
    assert code == 1, (code, log)
    assert "Traceback" not in log, log
    errors = [line for line in log.splitlines() if "| ERROR" in line]
    assert len(errors) == 1, log
    return errors[0]


# What the way to the store does to single requests.


@pytest.fixture
def proxy(seaweedfs: S3Server) -> Iterator[Proxy]:
    with proxied(seaweedfs) as made:
        yield made


SLOW_DOWN = proxies.refused(503, "SlowDown")
FAULTS: dict[str, tuple[list[Fault], dict[str, Any]]] = {
    "503 SlowDown": ([SLOW_DOWN], {}),
    "500, though it was applied": ([proxies.applied_but_refused(500, "InternalError")], {}),
    "409 to a conditional request": ([proxies.refused(409, "ConditionalRequestConflict")], {}),
    "400 to a body that was cut": ([proxies.refused(400, "IncompleteBody")], {}),
    "400 to a body that was changed": ([proxies.refused(400, "BadDigest")], {}),
    "sent twice": ([proxies.sent_twice], {}),
    "no answer": ([proxies.dropped], {}),
    "an answer that is lost": ([proxies.answer_lost], {}),
    "an answer cut in the middle": ([proxies.answer_cut], {}),
    "answers after 1 s": ([proxies.slow(1)], {}),
    "applied after the time-out": ([proxies.slow(3.5)], IMPATIENT),
}
EVERY = [fault for faults, _ in FAULTS.values() for fault in faults]
FAULTS["all of these in turn"] = (EVERY, IMPATIENT)
RARE = {"answers after 1 s", "applied after the time-out"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", scaled([*FAULTS][-1:], [*FAULTS]))
def test_requests_that_fail_now_and_then_are_sent_again(
    name: str, start: Start, proxy: Proxy
) -> None:
    line = Line(SUITE, f"requests: {name}", f"{THIS} -k requests")
    faults, options = FAULTS[name]
    for seed in range(scaled(1, 3)):
        place, taps = Place.of(proxy.server, **options), [Tap(0), Tap(1)]
        # At first few: a store is tried out by six requests that have to succeed in a row.
        proxy.plan = proxies.sometimes(faults, 0.05, seed)
        with running(start, place, taps[0]) as one, running(start, place, taps[1]) as other:
            one.wait_for_states(1)
            other.wait_for_states(1)
            proxy.plan = proxies.sometimes(faults, 0.05 if name in RARE else 0.15, seed)
            for _ in range(scaled(1, 10)):
                one.wait_for_states(1)
                other.wait_for_states(1)
            proxy.plan = proxies.nothing
            for run in (one, other):
                assert run.end() == 0, run.log()
                assert "Traceback" not in run.log(), run.log()
                assert "does not keep conditional writes" not in run.log(), run.log()
        # Nobody died, so nothing was sent again.
        assert require_kept(Place(place.url, proxy.server.storage_options()), *taps) == 0
        line.runs += 2
    line.faults = proxy.faults
    assert line.faults
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_credentials_that_expire_end_the_run_with_one_line(start: Start, proxy: Proxy) -> None:
    line = Line(SUITE, "credentials expire at some request", f"{THIS} -k credentials")
    for requests in scaled([30], [*range(0, 100, 5)]):
        place, tap = Place.of(proxy.server), Tap()
        proxy.plan = proxies.after(requests, proxies.refused(403, "ExpiredToken"))
        with running(start, place, tap) as run:
            assert "PermissionDenied" in (error := require_refused(run))
            assert "ExpiredToken" in error
        proxy.plan = proxies.nothing
        finish(start, place, tap)
        line.replays += require_kept(place, tap)
        line.runs += 2
        line.faults += 1
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_control_a_state_that_comes_too_early_is_seen(start: Start, proxy: Proxy) -> None:
    """The credentials expire when it is out, and before its commit."""
    line = Line(SUITE, "controls, a STATE sent early", f"{THIS} -k early")
    early = partial(start, patch=EARLY)
    place, tap, seen = Place.of(proxy.server), Tap(), False
    while not seen and line.runs < TRIES:
        with running(early, place, tap) as run:
            run.wait_for_states(1)
            proxy.plan = proxies.after(line.runs, proxies.refused(403, "ExpiredToken"))
            require_refused(run)
        proxy.plan = proxies.nothing
        finish(start, place, tap)
        line.runs += 1
        seen = is_lost(place, tap)
    line.control(seen)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_control_an_unconditional_put_is_seen(start: Start, proxy: Proxy) -> None:
    """Two targets in two schema folders hold different locks, and share the manifest."""
    line = Line(SUITE, "controls, an unconditional put", f"{THIS} -k unconditional")
    blind = partial(start, patch=UNCONDITIONAL)
    place, taps, seen = Place.of(proxy.server), [Tap(0), Tap(1)], False
    taps[1].first = taps[1].position = taps[1].first + 100
    proxy.plan = proxies.sometimes([proxies.slow(0.1)], 0.15, 0)
    while not seen and line.runs < TRIES:
        with running(blind, place, taps[0]) as one, running(blind, place, taps[1]) as other:
            one.wait_for_states(3)
            other.wait_for_states(3)
            one.end()
            other.end()
        line.runs += 1
        seen = is_lost(place, *taps)
    line.control(seen)


# The store is away.


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """An S3 server of our own: others must not miss it."""
    with run_seaweedfs_service() as made:
        yield made


AWAY = scaled([4.0], [5.0, 30.0, 30.0])
HOW: dict[str, tuple[Callable[[Service], None], Callable[[Service], None], dict[str, Any]]] = {
    "refuses connections": (Service.kill, Service.restart, {}),
    "hangs": (Service.pause, Service.resume, {}),
    "hangs past the time-out": (Service.pause, Service.resume, IMPATIENT),
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("how", scaled([*HOW][:1], [*HOW]))
def test_a_store_that_was_away_is_waited_for(how: str, start: Start, service: Service) -> None:
    line = Line(SUITE, f"the store {how}", f"{THIS} -k away")
    line.bounds = f"for {' s, '.join(f'{seconds:.0f}' for seconds in AWAY)} s"
    leave, come_back, options = HOW[how]
    for seconds in AWAY:
        place, taps = Place.of(service.server, **options), [Tap(0), Tap(1)]
        with running(start, place, taps[0]) as one, running(start, place, taps[1]) as other:
            for run in (one, other):
                run.wait_for_states(1)
            leave(service)
            time.sleep(seconds)
            come_back(service)
            for run in (one, other):
                run.wait_for_states(2)
                assert run.end() == 0, run.log()
        assert require_kept(place, *taps) == 0
        line.runs += 2
        line.faults += 1
    line.keep()


IN_A_HURRY = """
from singerlake.store import retrying
retrying.DEFAULT = retrying.RetryPolicy(4, 0.1)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_store_that_stays_away_ends_the_run_with_one_line(start: Start, service: Service) -> None:
    line = Line(SUITE, "the store stays away", f"{THIS} -k stays_away")
    place, tap = Place.of(service.server), Tap()
    with running(partial(start, patch=IN_A_HURRY), place, tap) as run:
        run.wait_for_states(1)
        service.kill()
        assert "gave up after 4 attempts" in require_refused(run)
    service.restart()
    finish(start, place, tap)
    line.replays = require_kept(place, tap)
    line.runs, line.faults = 2, 1
    line.keep()


# Local disks.


class Mounts:
    """Mounts that only processes in a namespace of their own see: no rights are needed for them."""

    def __init__(self, holder: subprocess.Popen[bytes]) -> None:
        self._enter = ["nsenter", "--target", str(holder.pid), "--user", "--mount"]
        self._enter += ["--preserve-credentials", f"--wd={Path.cwd()}"]
        self._root = Path(f"/proc/{holder.pid}/root")

    def start(self, *arguments: Any, command: list[str] = COMMAND, **more: Any) -> Any:
        """As `started`, inside."""
        return started(*arguments, command=[*self._enter, *command], **more)

    def run(self, *command: str) -> None:
        subprocess.run([*self._enter, *command], check=True)

    def seen(self, path: Path) -> Path:
        """What is there inside, seen from outside."""
        return self._root / path.relative_to("/")


@pytest.fixture
def mounts() -> Iterator[Mounts]:
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        subprocess.run([*unshare, "nsenter --version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        unable(f"this system lets nobody mount in a namespace of their own ({error})")
    command = [*unshare, "echo ready; read end"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        try:
            yield Mounts(holder)
        finally:
            holder.kill()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_full_disk_ends_the_run_with_one_line(mounts: Mounts, tmp_path: Path) -> None:
    line = Line(SUITE, "a full disk", f"{THIS} -k full_disk")
    disk, tap = tmp_path / "disk", Tap(size=500)
    disk.mkdir()
    mounts.run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk))
    seen = mounts.seen(disk)
    place = lake_folder(disk)
    filler = seen / "filler"
    filler.write_bytes(bytes(1_800_000))
    with running(mounts.start, place, tap) as run:
        assert "is full" in require_refused(run)
    assert tap.position > 0
    copied = lake_folder(shutil.copytree(seen, tmp_path / "copy while full"))
    filler.unlink()
    # Before the next run mends anything: what was acknowledged is there.
    line.replays = require_kept(copied, tap)
    finish(mounts.start, place, tap)
    line.replays += require_kept(lake_folder(shutil.copytree(seen, tmp_path / "copy")), tap)
    line.runs, line.faults = 2, 1
    line.keep()


LARGE_FILES = {"max_file_records": 10**6, "commit_interval_seconds": 60}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_full_disk_for_temporary_files_ends_the_run_with_one_line(
    mounts: Mounts, tmp_path: Path, seaweedfs: S3Server
) -> None:
    """Where the lake has room, and the disk that files are gathered on has none."""
    line = Line(SUITE, "a full disk for temporary files", f"{THIS} -k temporary")
    disk, place, tap = tmp_path / "disk", Place.of(seaweedfs), Tap(ahead=10**6, size=5000)
    disk.mkdir()
    mounts.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk))
    cramped = partial(mounts.start, env={"TMPDIR": str(disk)})
    with running(cramped, place, tap, **LARGE_FILES) as run:
        assert "let TMPDIR name a disk that has it" in require_refused(run)
    finish(started, place, tap)
    line.replays = require_kept(place, tap)
    line.runs, line.faults = 2, 1
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_lakes_disk_that_is_full_as_files_are_gathered_ends_the_run_with_one_line(
    mounts: Mounts, tmp_path: Path
) -> None:
    line = Line(SUITE, "a full disk as files are gathered", f"{THIS} -k gathered")
    disk, tap = tmp_path / "disk", Tap(ahead=10**6, size=5000)
    disk.mkdir()
    mounts.run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk))
    place = lake_folder(disk)
    with running(mounts.start, place, tap, **LARGE_FILES) as run:
        error = require_refused(run)
    # Whichever comes first: a file that is gathered, or what is put for one that is closed.
    assert "temporary files cannot be written" in error or "No space left on device" in error
    assert "TMPDIR" not in error, "it names no other disk for these"
    assert tap.position == 0
    mounts.run("mount", "-o", "remount,size=64m", str(disk))
    finish(mounts.start, place, tap)
    place = lake_folder(shutil.copytree(mounts.seen(disk), tmp_path / "copy"))
    line.replays = require_kept(place, tap)
    line.runs, line.faults = 2, 1
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_file_size_limit_ends_the_run_with_one_line(tmp_path: Path) -> None:
    line = Line(SUITE, "a limit on the size of files", f"{THIS} -k size_limit")
    place, tap = lake_folder(tmp_path), Tap(size=500)
    limited = patched("import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (9_000, 9_000))")
    with running(partial(started, command=limited), place, tap) as run:
        require_refused(run)
    finish(started, place, tap)
    line.replays = require_kept(place, tap)
    line.runs, line.faults = 2, 1
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_folder_that_turns_read_only_ends_the_run_with_one_line(
    mounts: Mounts, tmp_path: Path
) -> None:
    line = Line(SUITE, "a folder turns read-only", f"{THIS} -k read_only")
    place, tap = lake_folder(tmp_path), Tap()
    folder = str(tmp_path)
    mounts.run("mount", "--bind", folder, folder)
    with running(mounts.start, place, tap) as run:
        run.wait_for_states(2)
        mounts.run("sh", "-c", f"until mount -o remount,bind,ro {folder} 2>/dev/null; do :; done")
        assert "read-only" in require_refused(run)
    # From outside it is writable: as after a repair.
    finish(started, place, tap)
    line.replays = require_kept(place, tap)
    line.runs, line.faults = 2, 1
    line.keep()
