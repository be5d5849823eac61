"""Power cuts: from every state that a disk may have after one, nothing acknowledged is lost."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest

from singerlake.lineage.buffer import Buffer
from tests.faults import lake_work, lineage_work, processor_work
from tests.faults.lineage_work import DESTINATION, event
from tests.faults.power_cut import (
    Content,
    Folder,
    Keep,
    Name,
    Promise,
    Sync,
    Trace,
    Write,
    write,
)
from tests.faults.result import Line
from tests.faults.scale import WHOLE, scaled
from tests.faults.strace import recorded

MODULE = "tests/faults/test_power_cuts.py"
KEEPS: tuple[Keep, ...] = ("nothing", "everything", "names", "data", "some")
EVERY = 10_000
pytestmark = pytest.mark.usefixtures("quiet")


@dataclass(frozen=True)
class Subject:
    """Who makes promises. `broken` says which of them an image breaks; `deletes`: its life has to
    delete files, or it tries too little.

    Where `sets` is not 0, every set of what was not synced is tried, up to so many at a moment, in
    any order of names. Nobody looks at what is in the folder `hidden`.
    """

    name: str
    program: ModuleType
    broken: Callable[[Sequence[str], Path], list[str]]
    deletes: bool
    sets: int = 0
    hidden: str = ""
    share: int = 10
    whole: int = 100
    """Moments of each kind."""

    variant: str = ""

    def contents(self, trace: Trace, moment: int, seeds: int) -> Iterator[tuple[str, Content]]:
        keeps: list[Keep] = [*KEEPS, "any"] if self.sets else [*KEEPS]
        for keep in keeps:
            for seed in range(seeds if keep in ("some", "any") else 1):
                yield f"{keep} {seed}", trace.content(moment, keep, seed)
        if self.sets:
            for number, content in enumerate(trace.every_content(moment, self.sets, self.hidden)):
                yield f"set {number}", content

    def identity(self, said: Sequence[str], content: Content) -> int:
        """Of an image: what is promised, and what is looked at."""
        seen = {name: data for name, data in content.items() if not _is_hidden(name, self.hidden)}
        return hash((len(said), frozenset(seen.items())))


def _is_hidden(name: str, folder: str) -> bool:
    return bool(folder) and name.startswith(f"{folder}/")


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
LAKE = Subject(
    "a lake in a local folder",
    lake_work,
    lake_work.broken_promises,
    True,
    sets=64,
    hidden=lake_work.HIDDEN,
    share=4,
    whole=EVERY,
)
LINKLESS = replace(LAKE, name="a lake in a folder without hard links", variant="linkless")
SUBJECTS = [BUFFER, ENGINE, LAKE, *([LINKLESS] if WHOLE else [])]


def examined(
    subject: Subject, trace: Trace, folder: Path, count: int, seeds: int, patient: bool = True
) -> tuple[int, list[str]]:
    """Every image once: many moments leave the same. The impatient ask for one broken image."""
    seen: set[int] = set()
    problems = []
    for moment in moments(trace, count):
        said = trace.promises(moment)
        for name, content in subject.contents(trace, moment, seeds):
            identity = subject.identity(said, content)
            if identity not in seen:
                seen.add(identity)
                write(content, folder)
                found = subject.broken(said, folder)
                problems += [f"after {moment} steps, {name}: {one}" for one in found]
                if problems and not patient:
                    return len(seen), problems
    return len(seen), problems


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 3600))
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_nothing_acknowledged_is_lost_by_a_power_cut(subject: Subject, tmp_path: Path) -> None:
    line = Line("Power cuts", subject.name, MODULE)
    trace = work(tmp_path, subject.program, subject.variant)
    names = [step for step in trace.steps if isinstance(step, Name)]
    assert any(not name.target for name in names) or not subject.deletes
    assert any("/_segments/" in name.target for name in names) or subject.program is not lake_work
    if subject is LAKE:
        assert _links_its_spool(names)
        assert _tears_a_lock(subject, trace)
    images, problems = examined(
        subject, trace, tmp_path / "image", scaled(subject.share, subject.whole), scaled(1, 3)
    )
    line.runs = line.faults = images
    line.violations = len(problems)
    line.bounds = f"{len(trace.steps)} steps"
    line.keep()
    assert problems == []


def _links_its_spool(names: Sequence[Name]) -> bool:
    """Some files of the lake lay in a spool folder before."""
    spooled = {name.file for name in names if "/files/" in name.target}
    return any(name.file in spooled and name.target.startswith("raw/") for name in names)


def _tears_a_lock(subject: Subject, trace: Trace) -> bool:
    """Locks are not synced, so some images hold one that is not whole."""
    return any(
        name.endswith("singerlake.lock") and not data.endswith(b"}")
        for moment in moments(trace, subject.share)
        for _, content in subject.contents(trace, moment, 1)
        for name, data in content.items()
    )


LAKE_VARIANTS = ("nameless", "rootless", "early")
BROKEN = [
    pytest.param(BUFFER, "unsynced", id="buffer-unsynced"),
    pytest.param(BUFFER, "forgetful", id="buffer-forgetful"),
    pytest.param(ENGINE, "unsynced", id="engine-unsynced"),
    pytest.param(ENGINE, "normal", id="engine-normal"),  # as documented: the last events may go
    pytest.param(LAKE, "unsynced", id="lake-unsynced"),
    pytest.param(LAKE, "unsynced-spool", id="lake-unsynced-spool"),
    pytest.param(LAKE, "nameless-spool", id="lake-nameless-spool"),
    *(pytest.param(LAKE, name, id=f"lake-{name}") for name in LAKE_VARIANTS if WHOLE),
]


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 3600))
@pytest.mark.parametrize(("subject", "variant"), BROKEN)
def test_what_does_not_sync_is_seen(subject: Subject, variant: str, tmp_path: Path) -> None:
    trace = work(tmp_path, subject.program, variant)
    count = scaled(4, 100)
    _, problems = examined(subject, trace, tmp_path / "image", count, 1, patient=False)
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
    trace = Trace(tmp_path, [*steps[:4], Sync(None, "", 4), *steps[4:]])
    assert held("nothing", moment=5) == {"b": b"x" * 2048}


def test_a_folder_that_is_not_synced_takes_all_that_is_in_it_along(tmp_path: Path) -> None:
    steps = [
        Folder("a"),
        Name(1, target="a/b"),
        Write(1, 0, b"x"),
        Sync(1, "", 3),
        Sync(None, "a", 3),
    ]
    assert Trace(tmp_path, steps).content(5, "nothing") == {}
    assert Trace(tmp_path, [*steps, Sync(None, "", 5)]).content(6, "nothing") == {"a/b": b"x"}
    away = [
        *steps,
        Sync(None, "", 5),
        Name(1, source="a/b"),
        Folder("a", removed=True),
        Folder("a"),
    ]
    assert Trace(tmp_path, away).content(9, "nothing") == {"a/b": b"x"}
    assert Trace(tmp_path, away).content(9, "everything") == {}


def test_every_set_of_what_was_not_synced_is_an_image(tmp_path: Path) -> None:
    steps = [Name(1, target="a"), Name(2, target="b"), Name(3, target="own/c"), Write(1, 0, b"x")]
    trace = Trace(tmp_path, steps)
    made = {frozenset(content.items()) for content in trace.every_content(4, 100, "own")}
    a, full, b = ("a", b""), ("a", b"x"), ("b", b"")
    assert made == {frozenset(some) for some in ([], [a], [full], [b], [a, b], [full, b])}
    assert len(list(trace.every_content(4, 3, "own"))) == 3
