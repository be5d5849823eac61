"""`find` with an index and without: on random lakes the answers are the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from singerlake import rebuild
from singerlake.files import latest, put
from singerlake.format.keys import StreamKeys
from singerlake.index import query
from singerlake.lake import open_on
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import open_store
from tests.cli.finding import follow, land_more, rows, url_of
from tests.cli.lake import TAP, folder, run
from tests.faults.scale import scaled
from tests.lake.landing import PATIENT, record_line, schema_line

STREAMS = ("orders", "items", "o[1]", "öffnung / x")
STEPS = st.one_of(
    st.tuples(
        st.just("land"),
        st.sampled_from(STREAMS),
        st.lists(st.integers(0, 40), min_size=1, max_size=3),
        st.sampled_from(["one", "two", "three"]),
        st.integers(1, 2),
    ),
    st.tuples(st.sampled_from(["vacuum", "purge", "follow", "renumber"])),
)
QUESTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("--latest",),
    ("--limit", "3"),
    ("--stream", "orders", "--from", "2026-01-05", "--to", "2026-01-12"),
    ("--stream", "o[[]*", "--from", "2026-01-09"),
    ("--stream", "*", "--to", "2026-01-20T00:00:00", "--latest"),
    ("--run", "two"),
    ("--run", "two", "--latest", "--version", "1"),
    ("--tap", TAP, "--version", "v2"),
)


def play(root: Path, steps: Sequence[tuple[Any, ...]]) -> None:
    """A random history of a lake, which an index follows."""
    store = open_store(root)
    land_more(root, "orders", [1])
    for step in steps:
        names = open_on(store).tap(TAP).catalogue()
        if step[0] == "land":
            _, stream, numbers, run_id, version = step
            with open_on(store).writer(TAP, run_id) as writer:
                writer.write(schema_line(stream, version))
                for number in numbers:
                    writer.write(record_line(number * 43_200, stream))
        elif step[0] == "vacuum":
            for name in names:
                vacuum(store, StreamKeys(TAP, name), VacuumOptions(lock=PATIENT))
        elif step[0] == "purge":
            for name in names:
                purge(store, StreamKeys(TAP, name), timedelta(0), abandoned=timedelta(0))
        elif step[0] == "follow":
            follow(root)
        else:
            (folder(root, "orders") / "manifest.json").unlink()
            rebuild(store)
    follow(root)


def differences(root: Path) -> list[tuple[str, ...]]:
    """The questions whose answers differ, in any format."""
    index = ("--index", url_of(root))
    found = []
    for question in QUESTIONS:
        for form in ("url", "json"):
            asked = ("find", root, *question, "--format", form)
            one, other = run(*asked), run(*asked, *index)
            if (one.stdout, one.stderr, one.exit_code) != (
                other.stdout, other.stderr, other.exit_code
            ):  # fmt: skip
                found.append((*question, form))
    return found


@pytest.mark.timeout(scaled(300, 3600))
@settings(max_examples=scaled(12, 1000), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(steps=st.lists(STEPS, max_size=10))
def test_with_an_index_and_without_the_answers_are_the_same(
    steps: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("both") / "lake"
    play(root, steps)
    assert differences(root) == []


LONG: list[tuple[Any, ...]] = [
    ("land", "orders", [8, 9], "two", 1),
    ("land", "items", [3], "one", 2),
    ("land", "orders", [20, 30], "one", 1),
]


def test_control_another_meaning_of_an_interval_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path / "lake", LONG)
    assert differences(tmp_path / "lake") == []
    meaning = query.matches

    def broken(asked: query.Query, entry: query.Entry) -> bool:
        """Files that reach beyond the interval are left out."""
        return meaning(asked, entry) and (asked.end is None or entry.end <= asked.end)

    monkeypatch.setattr(query, "matches", broken)
    assert [form for *_, form in differences(tmp_path / "lake")] == ["url", "json"]


def test_control_an_index_that_is_behind_is_seen(tmp_path: Path) -> None:
    play(tmp_path / "lake", LONG)
    land_more(tmp_path / "lake", "items", [30])
    assert differences(tmp_path / "lake")
    follow(tmp_path / "lake")
    assert differences(tmp_path / "lake") == []


def test_the_newest_of_a_stream_of_files_is_one_of_them(tmp_path: Path) -> None:
    """A photo begins before it was put, and so before the Singer file that names it."""
    root = tmp_path / "lake"
    play(root, LONG)
    lake = open_on(open_store(root))
    for name, start in (("noon", "2026-01-03T12:00Z"), ("morning", "2026-01-03T08:00Z")):
        (tmp_path / name).write_text(name)
        put(lake, [tmp_path / name], what="photos", where="camera-1", start=start)
    follow(root)
    assert differences(root) == []
    newest = latest(lake.stream("camera-1", "photos"))
    assert newest is not None
    for more in ((), ("--to", "2026-01-04"), ("--index", url_of(root))):
        (found,) = rows(root, "camera-1", "photos", "--latest", *more)
        assert (found["checksum"], found["ordinal"]) == (f"sha256:{newest.sha256}", 1)
    for index in ((), ("--index", url_of(root))):
        asked = ("camera-1", "photos", "--latest", "--from", "2026-01-04", *index)
        assert rows(root, *asked) == []
