"""STATE follows commits whatever closed the file: its records, its size, a schema, or its age."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.lake import Writer, WriterOptions, open_on
from singerlake.store import MemoryStore
from target_singerlake.held_states import MOST, HeldStates
from target_singerlake.landing import Landing
from tests.target.driving import PATHS, TAP_ID, forked, numbers, record, run, schema, state

pytestmark = pytest.mark.usefixtures("door")

RECORDS, EVERY, IN_A_FILE = 20_000, 500, 1_000


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


def lines_from(first: int, last: int, streams: int = 1) -> list[str]:
    """Records first to last of streams that take turns, and a STATE behind every 500."""
    lines = [schema(f"s{each}") for each in range(streams)]
    for number in range(first, last + 1):
        lines.append(record(f"s{number % streams}", number))
        if number % EVERY == 0:
            lines.append(state({"at": number}))
    return lines


def test_states_come_out_as_files_are_committed_and_a_kill_repeats_only_the_rest(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    with forked(tmp_path, max_file_records=IN_A_FILE, **path) as running:
        running.send(*lines_from(1, RECORDS - 1))  # so that the last file stays open
        at = 0
        while at < RECORDS - IN_A_FILE:
            at = json.loads(running.next_state())["at"]
            assert at % IN_A_FILE == 0
        running.process.kill()
        running.process.wait()
    assert numbers(tmp_path, "s0") == list(range(1, at + 1))
    outcome = run(lines_from(at + 1, RECORDS), tmp_path, max_file_records=IN_A_FILE, **path)
    assert (outcome.code, json.loads(outcome.states[-1])) == (0, {"at": RECORDS})
    assert numbers(tmp_path, "s0") == list(range(1, RECORDS + 1))


def test_states_of_streams_that_take_turns_come_out_while_the_input_goes_on(
    tmp_path: Path,
) -> None:
    """The files of the three fill at nearly the same time, and each holds back the state."""
    with forked(tmp_path, max_file_records=IN_A_FILE) as running:
        sent = lines_from(1, RECORDS - 1, streams=3)
        running.send(*sent)
        at = json.loads(running.next_state())["at"]
        running.process.kill()
        running.process.wait()
    there = {number for each in range(3) for number in numbers(tmp_path, f"s{each}")}
    assert 0 < at < RECORDS
    assert there >= set(range(1, at + 1))


@settings(deadline=None)
@given(
    most=st.integers(1, 4),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("record"), st.sampled_from("abc")),
            st.tuples(st.just("state"), st.just("")),
            st.tuples(st.just("tick"), st.just("")),
            st.tuples(st.just("flush"), st.just("")),
        ),
        max_size=60,
    ),
)
def test_a_state_covers_only_what_is_committed_and_is_the_newest_such_state(
    most: int, steps: list[tuple[str, str]]
) -> None:
    store = MemoryStore(uuid.uuid4().hex)
    lake = open_on(store, create=True)
    writer = lake.writer(TAP_ID, options=WriterOptions(max_file_records=most))
    landing = Landing(writer, 3600, _Silent())  # type: ignore[arg-type]
    emitted: list[int] = []
    states: list[dict[str, int]] = []
    sent = dict.fromkeys("abc", 0)

    def committed() -> dict[str, int]:
        return {
            name: sum(file.records for file in lake.stream(TAP_ID, name).snapshot().files())
            for name in sent
            if sent[name]
        }

    def covers(there: dict[str, int], at: int) -> bool:
        return all(there.get(name, 0) >= count for name, count in states[at].items())

    def emit(value: bytes, log: Any) -> None:
        at = json.loads(value)["at"]
        assert covers(committed(), at)
        emitted.append(at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("target_singerlake.landing._emit", emit)
        for name in sent:
            writer.write(schema(name).encode())
        writer.commit()
        for what, stream in steps:
            if what == "record":
                sent[stream] += 1
                writer.write(record(stream, sent[stream]).encode())
                landing.count(stream, 1, 1)
            elif what == "state":
                states.append(dict(sent))
                landing.state(json.dumps({"at": len(states) - 1}).encode())
            elif what == "flush":
                writer.flush()
            else:
                _settled(writer)
                landing.tick()
                there = committed()
                due = [at for at in range(len(states)) if covers(there, at)]
                assert emitted[-1:] == due[-1:]
            assert landing.covered == (sent == (states[-1] if states else dict.fromkeys(sent, 0)))
        landing.finish()
    assert emitted == sorted(set(emitted))
    assert emitted[-1:] == [len(states) - 1][: len(states)]


def _settled(writer: Writer) -> None:
    for work in [*writer.pending._submitted.values()]:
        work.result()


class _Silent:
    def info(self, *_: Any) -> None: ...

    warning = info


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300)), max_size=400))
def test_held_states_are_few_and_the_last_is_never_given_up(
    steps: list[tuple[int, int]],
) -> None:
    held, pending, last, came, out = HeldStates(), [], 0, -1, -1
    for what, which in steps:
        if what == 0:
            last += 1
            pending.append(last)
        elif what == 1 and pending:
            pending.pop(which % len(pending))
        came += 1
        held.add(pending[-1] if pending else 0, str(came).encode())
        assert len(held) <= MOST
        if what == 2 and (due := held.due(pending)) is not None:
            assert int(due) > out
            out = int(due)
    due = held.due([])
    assert due is None or int(due) > out
    assert came == max(out, -1 if due is None else int(due))


def test_a_thousand_open_streams_hold_a_hundred_states() -> None:
    held = HeldStates()
    for number in range(1, 1001):
        held.add(number, str(number).encode())
    assert len(held) == MOST
    assert held.due(range(50, 1001)) == b"49"
    assert held.due([]) == b"1000"


def test_a_state_follows_a_file_that_was_closed_by_its_size(tmp_path: Path) -> None:
    with forked(tmp_path, max_file_bytes=1) as running:
        running.send(schema("s"))
        for number in range(5):
            running.send(record("s", number, text="x" * 300_000), state({"at": number}))
        assert json.loads(running.next_state())["at"] < 5


def test_whether_a_state_covers_everything_is_known() -> None:
    lake = open_on(MemoryStore(uuid.uuid4().hex), create=True)
    with lake.writer(TAP_ID) as writer:
        landing = Landing(writer, 3600, _Silent())  # type: ignore[arg-type]
        assert (landing.covered, landing.last_state) == (True, None)
        landing.count("s", 1, 10)
        assert not landing.covered
        landing.state(b'{"at": 1}')
        assert (landing.covered, landing.last_state) == (True, b'{"at": 1}')
        landing.count("s", 0, 10)  # an ACTIVATE_VERSION
        assert not landing.covered
        landing.state(b"{}")
        assert (landing.covered, landing.last_state) == (True, b"{}")
