"""Drives the target as its users do, and reads back what it landed."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from singerlake.format import message
from singerlake.lake import Lake, Level, check, open_lake
from singerlake.lake.lock import LockTimes
from singerlake.store import Store
from target_singerlake import command as thin
from target_singerlake import settings as declared
from target_singerlake.target import TargetSingerlake
from tests import zygote
from tests.zygote import PATIENCE

TAP_ID = "tap-made--here"
COMMAND = [sys.executable, "-m", "target_singerlake"]
DOORS = ["target_singerlake.command", "target_singerlake.target"]
"""The thin command, and that of the SDK."""

DOOR = DOORS[0]
MAPPED = {"stream_maps": {"a stream that nobody sends": {"a": "a"}}}
"""Settings that make the target take the SDK's path, and change nothing."""

PATHS = {"raw path": {}, "mapped path": MAPPED}

_SPLICED = re.compile(rb',"time_extracted":"[-0-9T:.]+Z"\}$')


def schema(stream: str, keys: Iterable[str] = ("id",), **properties: Any) -> str:
    """A SCHEMA line; `properties` says more than that there is an `id`."""
    return _line(
        type="SCHEMA",
        stream=stream,
        schema={"type": "object", "properties": {"id": {"type": "integer"}, **properties}},
        key_properties=list(keys),
    )


def record(stream: str, number: int, **more: Any) -> str:
    return _line(type="RECORD", stream=stream, record={"id": number, **more})


def timed(stream: str, number: int, **more: Any) -> str:
    """A RECORD line that has its time, so that it is stored as it is."""
    moment = f"2026-01-02T03:04:05.{number % 1_000_000:06}Z"
    return _line(type="RECORD", stream=stream, record={"id": number, **more}, time_extracted=moment)


def state(value: Any) -> str:
    return _line(type="STATE", value=value)


def _line(**content: Any) -> str:
    return json.dumps(content)


def text(lines: Iterable[str | bytes]) -> bytes:
    return b"".join((each.encode() if isinstance(each, str) else each) + b"\n" for each in lines)


# In this process: quick, and with a store that tests can get at.


def land(lines: Iterable[str | bytes], root: str | Path, **config: Any) -> list[bytes]:
    """Land the lines, through the door of the test; returns the states that came out."""
    given = {"lake_root": str(root), "tap_id": TAP_ID, **config}
    source = io.BytesIO(text(lines))
    plain = declared.plain(given) if DOORS[0] == DOOR else None
    if plain is None:
        return listen(TargetSingerlake(config=given), source)
    with _listening() as output:
        thin.land(plain, source, logging.getLogger(thin.NAME))
    return output.getvalue().splitlines()


def listen(target: TargetSingerlake, source: IO[Any]) -> list[bytes]:
    with _listening() as output:
        target.listen(source)
    return output.getvalue().splitlines()


@contextmanager
def _listening() -> Iterator[io.BytesIO]:
    """What is written to stdout within."""
    found = io.BytesIO()
    output = io.TextIOWrapper(found, encoding="utf-8", newline="\n")
    with signal_handlers_kept(), contextlib.redirect_stdout(output):
        yield found
    output.flush()
    output.detach()  # which would close what was found


@contextmanager
def signal_handlers_kept() -> Iterator[None]:
    """The SDK takes Ctrl-C for itself, which is pytest's."""
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    handlers[signal.SIGINT] = signal.default_int_handler
    handlers[signal.SIGTERM] = handlers[signal.SIGHUP] = signal.SIG_DFL
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


# In a process of its own: the command itself.


@dataclass(frozen=True)
class Outcome:
    """How a run of the command ended."""

    code: int
    states: list[bytes]
    log: str

    @property
    def error(self) -> str:
        """The last line of the log that tells of an error."""
        lines = [line for line in self.log.splitlines() if "| ERROR" in line]
        assert lines, self.log
        return lines[-1]

    def refused(self) -> str:
        """The run ended as bad input and bad settings do; returns what the user reads."""
        assert self.code == 1, self.log
        assert "Traceback" not in self.log, self.log
        return self.error


@contextmanager
def started(
    root: str | Path | None,
    env: Mapping[str, str] | None = None,
    command: list[str] = COMMAND,
    arguments: Iterable[str] = (),
    tap_id: str | None = TAP_ID,
    **config: Any,
) -> Iterator[Running]:
    """The command with an open pipe at each end; killed at the end if it still runs."""
    with _files(lake_root=root and str(root), tap_id=tap_id, **config) as (path, log):
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [*_through_the_door(command), "--config", str(path), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(env),
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with _ended(Running(process, process.stdin, process.stdout, log)) as running:
            yield running


def _through_the_door(command: list[str]) -> list[str]:
    """The command as it is called, but for tests that come in by the other door."""
    return [sys.executable, "-m", DOOR] if command == COMMAND and DOORS[0] != DOOR else command


@contextmanager
def forked(
    root: str | Path | None,
    patch: str = "",
    arguments: Iterable[str] = (),
    tap_id: str | None = TAP_ID,
    **config: Any,
) -> Iterator[Running]:
    """The same, but for the imports: see `tests.zygote`. `patch` runs in its process before."""
    with _files(lake_root=root and str(root), tap_id=tap_id, **config) as (path, log):
        (our_in, their_out), (their_in, our_out) = os.pipe(), os.pipe()
        to_it, from_it = os.fdopen(our_out, "wb"), os.fdopen(our_in, "rb")
        with (
            os.fdopen(their_in, "rb") as given,
            os.fdopen(their_out, "wb") as taken,
            log.open("ab") as errors,
        ):
            process = zygote.shared().start(
                DOOR,
                ["--config", str(path), *arguments],
                environment(),
                (given, taken, errors),
                patch,
            )
        with _ended(Running(process, to_it, from_it, log)) as running:
            yield running


@contextmanager
def _files(**settings: Any) -> Iterator[tuple[Path, Path]]:
    """The file of the settings, but for those that are None, and an empty log."""
    with tempfile.TemporaryDirectory(prefix="target-") as folder:
        path, log = Path(folder, "config.json"), Path(folder, "log")
        path.write_text(json.dumps({k: v for k, v in settings.items() if v is not None}))
        log.touch()
        yield path, log


@contextmanager
def _ended(running: Running) -> Iterator[Running]:
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait(PATIENCE)
        for pipe in (running.input, running.output):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what a surrounding Meltano or an AWS profile may have left there."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MELTANO_", "AWS_", "TARGET_SINGERLAKE_", "LOGLEVEL"))
    }
    repository = str(Path(__file__).parents[2])
    return {**kept, "PYTHONPATH": repository, "TMPDIR": tempfile.gettempdir(), **(more or {})}


class Running:
    """The command while it runs."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | zygote.Forked,
        to_it: IO[bytes],
        from_it: IO[bytes],
        log: Path,
    ) -> None:
        self.process, self.input, self.output = process, to_it, from_it
        self._log = log
        self.pending = b""

    def send(self, *lines: str | bytes) -> None:
        self.send_bytes(text(lines))

    def send_bytes(self, data: bytes) -> None:
        self.input.write(data)
        self.input.flush()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def next_state(self) -> bytes:
        """The next state that comes out while the input stays open."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.output, selectors.EVENT_READ)
            deadline = time.monotonic() + PATIENCE
            while b"\n" not in self.pending:
                assert selector.select(max(0.0, deadline - time.monotonic())), self.log()
                data = os.read(self.output.fileno(), 65536)
                assert data, self.log()
                self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def wait_for_log(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while words not in self.log():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def wait(self) -> Outcome:
        """Until it ends by itself, the input still open."""
        code = self.process.wait(PATIENCE)
        return Outcome(code, (self.pending + self.output.read()).splitlines(), self.log())

    def end(self) -> Outcome:
        """Close the input, and wait."""
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        return self.wait()


def run(lines: Iterable[str | bytes] | bytes, root: str | Path | None, **more: Any) -> Outcome:
    """The whole command over all of its input."""
    data = lines if isinstance(lines, bytes) else text(lines)
    start = started if {"env", "command"} & more.keys() else forked
    with start(root, **more) as running:
        with contextlib.suppress(BrokenPipeError):
            running.send_bytes(data)
        return running.end()


def patched(body: str) -> list[str]:
    """The command of the test's door, after `body` has run in its process."""
    return [sys.executable, "-c", f"{body}\nfrom {DOOR} import main\nmain()"]


def shell(script: str) -> list[str]:
    """The command as `"$@"` of a shell script."""
    return ["sh", "-c", script, "sh", *_through_the_door(COMMAND)]


MEASURED = patched(
    """
import atexit, re, resource, sys
from pathlib import Path
def tell():
    try:
        status = Path("/proc/self/status").read_text()
        peak = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("peak memory", peak // 1024, "MB", file=sys.stderr)
atexit.register(tell)
"""
)
"""The command, which tells its peak memory at its end.

Not by what the parent knows of its children: where a child is started by vfork, Linux counts
the parent's memory as the child's.
"""


def peak_megabytes(outcome: Outcome) -> int:
    found = re.search(r"peak memory (\d+) MB", outcome.log)
    assert found, outcome.log
    return int(found[1])


# What is in the lake afterwards.


def lake(root: str | Path) -> Lake:
    return open_lake(str(root))


def stored(root: str | Path, stream: str, tap_id: str = TAP_ID) -> list[bytes]:
    """The stream's lines without the SCHEMA lines, in commit order."""
    snapshot = lake(root).stream(tap_id, stream).snapshot()
    return [
        line
        for file in snapshot.files()
        for line in snapshot.lines(file)
        if message.decode(line).type != "SCHEMA"
    ]


def as_sent(line: bytes) -> bytes:
    """A stored line without the time that was spliced in."""
    return _SPLICED.sub(b"}", line)


def records(root: str | Path, stream: str) -> list[dict[str, Any]]:
    """Every record in commit order; numbers as the tap wrote them."""
    messages = [json.loads(line, parse_float=str) for line in stored(root, stream)]
    return [each["record"] for each in messages if each["type"] == "RECORD"]


def numbers(root: str | Path, stream: str) -> list[int]:
    return [record["id"] for record in records(root, stream)]


def files(root: str | Path, stream: str) -> list[Any]:
    return list(lake(root).stream(TAP_ID, stream).snapshot().files())


def assert_clean(root: str | Path) -> None:
    store: Store = lake(root).store
    report = check(store, times=LockTimes(stale_after=1.0, refresh_every=0.25))
    assert report.clean, report.findings
    assert not report.of(Level.NOTE), report.findings
