"""STATE: only after its records are in the manifest, in order, and while the sync goes on."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import BadName, Unavailable
from singerlake.store import MemoryStore
from target_singerlake.target import TargetSingerlake
from tests.target.driving import (
    PATHS,
    TAP_ID,
    assert_clean,
    land,
    listen,
    numbers,
    record,
    run,
    schema,
    started,
    state,
)

pytestmark = pytest.mark.usefixtures("door")


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


class ManifestWatch:
    """Counts the manifests that were put, and may refuse or hold them up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuse = False
        self.open = threading.Event()
        self.open.set()
        self.put = 0
        for name in ("create", "replace"):
            monkeypatch.setattr(MemoryStore, name, self._watched(getattr(MemoryStore, name)))

    def _watched(self, method: Any) -> Any:
        def call(store: MemoryStore, key: str, *rest: Any) -> Any:
            if not key.endswith("/manifest.json"):
                return method(store, key, *rest)
            self.open.wait()
            if self.refuse:
                raise Unavailable(f"{key}: no answer")
            answer = method(store, key, *rest)
            self.put += 1
            return answer

        return call


@pytest.fixture
def manifests(monkeypatch: pytest.MonkeyPatch) -> ManifestWatch:
    return ManifestWatch(monkeypatch)


def test_no_state_comes_out_where_the_manifest_cannot_be_put(
    manifests: ManifestWatch, path: dict[str, Any], root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests.refuse = True
    target = TargetSingerlake(
        config={"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    )
    lines = [schema("s"), record("s", 1), state({"at": 1}), record("s", 2), state({"at": 2})]
    with pytest.raises(Unavailable):
        target.listen(io.StringIO("".join(line + "\n" for line in lines)))
    assert capsys.readouterr().out == ""


class Asking(io.RawIOBase):
    """An input that looks, each time it is read, at what has come out by then."""

    def __init__(self, chunks: list[bytes], look: Any) -> None:
        self._chunks, self._look = list(chunks), look

    def read(self, size: int = -1) -> bytes:
        self._look()
        return self._chunks.pop(0) if self._chunks else b""

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def test_no_state_comes_out_while_the_manifest_is_on_its_way(
    manifests: ManifestWatch, path: dict[str, Any], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitted: list[bytes] = []
    monkeypatch.setattr("target_singerlake.landing._emit", lambda value, log: emitted.append(value))
    early: list[bytes] = []
    manifests.open.clear()
    chunks = [f"{schema('s')}\n".encode()] + [
        f"{record('s', number)}\n{state({'at': number})}\n".encode() for number in range(5)
    ]

    def look() -> None:
        early.extend(emitted)
        if not source._chunks:
            manifests.open.set()

    source = Asking(chunks, look)
    config = {"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    listen(TargetSingerlake(config=config), source)
    assert early == []
    assert json.loads(emitted[-1]) == {"at": 4}
    assert emitted == sorted(emitted)


def test_no_state_comes_out_after_a_commit_in_the_background_was_refused(
    path: dict[str, Any], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error looks like bad input, after which what came before is committed."""
    emitted: list[bytes] = []
    monkeypatch.setattr("target_singerlake.landing._emit", lambda value, log: emitted.append(value))
    create = MemoryStore.create

    def refuse(store: MemoryStore, key: str, *rest: Any) -> Any:
        if "/long/" in key and key.endswith(".singer.gz"):
            raise BadName(f"{key} is longer than the file system allows")
        return create(store, key, *rest)

    monkeypatch.setattr(MemoryStore, "create", refuse)
    config = {"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    target = TargetSingerlake(config=config)

    def look() -> None:
        """Goes on once what was flushed by now has come to its end."""
        if len(source._chunks) < len(chunks):
            deadline = time.monotonic() + 60
            submitted = target.landing.writer.pending._submitted
            while not all(work.done() for work in submitted.values()):
                assert time.monotonic() < deadline
                time.sleep(0.001)

    chunks = [
        "\n".join([schema(stream), record(stream, number), state({"at": number}), ""]).encode()
        for number, stream in enumerate(["long", "other", "another"])
    ]
    source = Asking(chunks, look)
    with pytest.raises(BadName):
        listen(target, source)
    assert emitted == []


def test_every_state_that_comes_out_covers_only_records_of_the_manifest(
    path: dict[str, Any], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read the lake at the very moment at which a state comes out."""
    covered: list[tuple[int, list[int]]] = []

    def emit(value: bytes, log: Any) -> None:
        covered.append((json.loads(value)["at"], numbers(root, "s")))

    monkeypatch.setattr("target_singerlake.landing._emit", emit)
    chunks = [f"{schema('s')}\n".encode()] + [
        f"{record('s', number)}\n{state({'at': number})}\n".encode() for number in range(30)
    ]
    config = {"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    listen(TargetSingerlake(config=config), Asking(chunks, lambda: None))
    assert [at for at, _ in covered] == sorted({at for at, _ in covered})
    assert covered[-1][0] == 29
    for at, there in covered:
        assert there[: at + 1] == list(range(at + 1))


def test_a_slow_stream_holds_back_the_state_of_a_quick_one(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two streams commit side by side: the state waits for both."""
    gate = threading.Event()
    order: list[str] = []
    create = MemoryStore.create

    def slow(store: MemoryStore, key: str, *rest: Any) -> Any:
        if key.endswith("/slow/manifest.json"):
            gate.wait()
            order.append("slow")
        answer = create(store, key, *rest)
        if key.endswith("/quick/manifest.json"):
            order.append("quick")
            gate.set()
        return answer

    monkeypatch.setattr(MemoryStore, "create", slow)
    monkeypatch.setattr("target_singerlake.landing._emit", lambda value, log: order.append("state"))
    lines = [schema("slow"), schema("quick"), record("slow", 1), record("quick", 1)]
    land([*lines, state({"at": 1})], root)
    assert order == ["quick", "slow", "state"]


@pytest.mark.parametrize("empty", ["{}", "null", "{ }", " {\t} "])
def test_an_empty_state_is_not_passed_on(empty: str, path: dict[str, Any], root: str) -> None:
    lines = [schema("s"), record("s", 1), state({"at": 1})]
    last = f'{{"type": "STATE", "value": {empty}}}'
    assert land([*lines, last], root, **path) == [b'{"at": 1}']
    assert land([*lines[:2], last], root, **path) == []


def test_a_state_comes_out_as_the_tap_wrote_it(path: dict[str, Any], root: str) -> None:
    value = '{ "b":1.10,"a" : 1e400, "big":123456789012345678901234567890, "\\u00e9": "é\\/" }'
    line = f'{{"value": {value}, "type": "STATE"}}'
    assert land([schema("s"), record("s", 1), line], root, **path) == [value.encode()]


@pytest.mark.parametrize("value", ['{"x":NaN,"y":1.10}', '{"x":"\\ud800","y":[-Infinity]}'])
def test_a_state_that_only_python_reads_comes_out_too(
    value: str, path: dict[str, Any], root: str
) -> None:
    line = f'{{"type": "STATE", "value": {value}}}'
    assert land([schema("s"), record("s", 1), line], root, **path) == [value.encode()]


def test_identical_states_come_out_once(path: dict[str, Any], root: str) -> None:
    chunks = [f"{schema('s')}\n".encode()] + [
        f"{record('s', number)}\n{state({'at': 'the same'})}\n".encode() for number in range(5)
    ]
    config = {"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    states = listen(TargetSingerlake(config=config), Asking(chunks, lambda: None))
    assert states == [b'{"at": "the same"}']


def test_a_state_without_records_comes_out_too(path: dict[str, Any], root: str) -> None:
    assert land([state({"at": 7})], root, **path) == [b'{"at": 7}']


def test_states_come_out_while_a_slow_tap_goes_on(tmp_path: Path) -> None:
    with started(tmp_path, commit_interval_seconds=0.2) as running:
        running.send(schema("s"))
        for number in range(3):
            running.send(record("s", number), state({"at": number}))
            assert json.loads(running.next_state()) == {"at": number}
            assert numbers(tmp_path, "s") == list(range(number + 1))
        outcome = running.end()
    assert (outcome.code, outcome.states) == (0, [])
    assert_clean(tmp_path)


def test_the_state_of_an_idle_tap_comes_out_after_the_interval(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    with started(tmp_path, commit_interval_seconds=2, **path) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        assert json.loads(running.next_state()) == {"at": 1}
        assert running.process.poll() is None
        assert numbers(tmp_path, "s") == [1]


def test_a_state_is_utf8_whatever_the_terminal_says(tmp_path: Path) -> None:
    line = json.dumps({"type": "STATE", "value": {"Größe": "日本"}}, ensure_ascii=False)
    outcome = run([schema("s"), record("s", 1), line], tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert (outcome.code, outcome.states) == (0, ['{"Größe": "日本"}'.encode()])


def test_the_records_of_half_a_line_are_not_covered(tmp_path: Path) -> None:
    """A line that has not ended yet is not taken, so no state of it can come out."""
    with started(tmp_path, commit_interval_seconds=0) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        whole = state({"at": 2}).encode()
        running.send_bytes(whole[:10])
        assert json.loads(running.next_state()) == {"at": 1}
        running.send_bytes(whole[10:] + b"\n")
        assert json.loads(running.next_state()) == {"at": 2}


def test_states_come_out_though_a_tap_sends_a_little_all_the_time(tmp_path: Path) -> None:
    """Each pause is too short to end a block by itself, and the whole would not fill one."""
    last = 1000
    with started(tmp_path, commit_interval_seconds=0.1) as running:

        def feed() -> None:
            running.send(schema("s"))
            for number in range(last + 1):
                running.send(record("s", number), state({"at": number}))
                time.sleep(0.01)

        feeding = threading.Thread(target=feed)
        feeding.start()
        first = json.loads(running.next_state())
        feeding.join()
        outcome = running.end()
    assert first["at"] < last
    assert json.loads(outcome.states[-1]) == {"at": last}
    assert numbers(tmp_path, "s") == list(range(last + 1))
