"""Power cuts: from every state that a disk may have after one, no acknowledged event is lost."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from singerlake.lineage.buffer import Buffer
from tests.faults import lineage_work, processor_work
from tests.faults.lineage_work import DESTINATION, event
from tests.faults.power_cut import Keep, Name, Promise, Sync, Trace, Write
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.strace import recorded

MODULE = "tests/faults/test_power_cuts.py"
KEEPS: tuple[Keep, ...] = ("nothing", "everything", "names", "data", "some")
pytestmark = pytest.mark.usefixtures("quiet")


@dataclass(frozen=True)
class Subject:
    """Who makes promises. `broken` says which of them an image breaks; `deletes`: its life has to
    delete files, or it tries too little."""

    name: str
    program: ModuleType
    broken: Callable[[Sequence[str], Path], list[str]]
    deletes: bool


def work(folder: Path, program: ModuleType = lineage_work, variant: str = "") -> Trace:
    folder = folder.resolve() / f"work{variant}"
    folder.mkdir()
    return recorded([sys.executable, "-m", program.__name__, str(folder), variant], folder)


def moments(trace: Trace, count: int) -> list[int]:
    """After every promise, and others at random: promises are what has to be kept."""
    chance = random.Random(19)
    promised = [n + 1 for n, step in enumerate(trace.steps) if isinstance(step, Promise)]
    others = chance.sample(range(len(trace.steps) + 1), min(count, len(trace.steps)))
    chosen = chance.sample(promised, min(count, len(promised)))
    return sorted({*others, *chosen})


def broken_promises(said: Sequence[str], folder: Path) -> list[str]:
    """What an image of the buffer breaks: nothing, if all is well."""
    promises = [one.split() for one in said]
    acknowledged = {int(words[1]): int(words[2]) for words in promises if words[0] == "ack"}
    sent = {int(words[1]) for words in promises if words[0] == "sent"}
    buffer = Buffer(folder, [DESTINATION])
    try:
        at = buffer.checkpoint(DESTINATION)
        reader, found = buffer.reader(), dict[int, bytes]()
        while events := reader.after(max([at, *found]), 100):
            found |= {one.sequence: one.event for one in events}
        reader.close()
        problems = [
            f"event {sequence} is lost"
            for sequence, number in acknowledged.items()
            if found.get(sequence) != event(number) and not (sequence <= at and sequence in sent)
        ]
        if buffer.shelf.gaps.lost:
            problems.append(f"losses: {list(buffer.shelf.gaps)}")
        (fresh,) = buffer.put([b"{}"])
        if fresh <= max([0, *acknowledged]):
            problems.append(f"the number {fresh} is used again")
        return problems
    finally:
        buffer.close()


BUFFER = Subject("the buffer of the lineage proxy", lineage_work, broken_promises, True)
ENGINE = Subject(
    "the embedded engine of the processor", processor_work, processor_work.broken_promises, False
)


def examined(
    subject: Subject, trace: Trace, folder: Path, count: int, seeds: int
) -> tuple[int, list[str]]:
    images, problems = 0, []
    for moment in moments(trace, count):
        for keep in KEEPS:
            for seed in range(seeds if keep == "some" else 1):
                trace.image(folder, moment, keep, seed)
                images += 1
                found = subject.broken(trace.promises(moment), folder)
                problems += [f"after {moment} steps, {keep} {seed}: {one}" for one in found]
    return images, problems


@pytest.mark.slow
@pytest.mark.parametrize("subject", [BUFFER, ENGINE], ids=["buffer", "engine"])
def test_no_acknowledged_event_is_lost_by_a_power_cut(subject: Subject, tmp_path: Path) -> None:
    line = Line("Power cuts", subject.name, MODULE)
    trace = work(tmp_path, subject.program)
    deleted = any(isinstance(step, Name) and not step.target for step in trace.steps)
    assert deleted or not subject.deletes
    images, problems = examined(subject, trace, tmp_path / "image", *scaled((10, 1), (100, 3)))
    line.runs = line.faults = images
    line.violations = len(problems)
    line.bounds = f"{len(trace.steps)} steps"
    line.keep()
    assert problems == []


BROKEN = [
    pytest.param(BUFFER, "unsynced", id="buffer-unsynced"),
    pytest.param(BUFFER, "forgetful", id="buffer-forgetful"),
    pytest.param(ENGINE, "unsynced", id="engine-unsynced"),
    pytest.param(ENGINE, "normal", id="engine-normal"),  # as documented: the last events may go
]


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "variant"), BROKEN)
def test_what_does_not_sync_is_seen(subject: Subject, variant: str, tmp_path: Path) -> None:
    trace = work(tmp_path, subject.program, variant)
    _, problems = examined(subject, trace, tmp_path / "image", *scaled((4, 1), (100, 1)))
    line = Line("Power cuts", f"control: {subject.name}, {variant}", MODULE)
    line.control(bool(problems), variant)


def test_an_image_of_everything_is_what_the_disk_holds(tmp_path: Path) -> None:
    """The recorder itself: appends, positions, truncations and renames of any program."""
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    program = f"""
import os
os.chdir({str(folder)!r})
with open("a", "wb") as file:
    file.write(b"hello world")
    file.flush(); os.fsync(file.fileno())
    file.seek(6); file.write(b"there"); file.truncate(9)
with open("b", "ab") as file: file.write(b"1")
with open("b", "ab") as file: file.write(b"2")
os.rename("a", "c"); os.link("c", "d"); open("e", "w").close(); os.unlink("e")
print("promise", flush=True)
"""
    trace = recorded([sys.executable, "-c", program], folder)
    trace.image(tmp_path / "image", len(trace.steps), "everything")
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "image").iterdir()} == held
    assert held == {"c": b"hello the", "d": b"hello the", "b": b"12"}
    assert trace.promises(len(trace.steps)) == ["promise"]


def test_what_is_not_synced_may_be_gone_torn_or_without_its_name(tmp_path: Path) -> None:
    steps = [
        Name(1, target="a"),
        Write(1, 0, b"x" * 2048),
        Sync(1, "", 2),
        Name(1, "a", "b"),
        Write(1, 1024, b"y" * 1024),
    ]
    trace = Trace(tmp_path, steps)

    def held(keep: Keep, seed: int = 0, moment: int = len(steps)) -> dict[str, bytes]:
        trace.image(tmp_path / "image", moment, keep, seed)
        return {path.name: path.read_bytes() for path in (tmp_path / "image").iterdir()}

    assert held("nothing") == {}  # the folder was never synced
    assert held("names") == {"b": b"x" * 2048}
    assert held("everything") == {"b": b"x" * 1024 + b"y" * 1024}
    some = {tuple(held("some", seed).items()) for seed in range(60)}
    assert any(b"y" * 512 in dict(one).get("b", b"") for one in some)
    assert any("a" in dict(one) for one in some)
    trace.steps.insert(4, Sync(None, "", 4))
    assert held("nothing", moment=5) == {"b": b"x" * 2048}
