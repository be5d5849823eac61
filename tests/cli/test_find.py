"""`find`: which files hold a stream, at a time, from a run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.cli import find_output
from singerlake.format.keys import StreamKeys
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import open_store
from tests.cli.finding import follow, indexed, land_more, rows
from tests.cli.lake import EVIL, EVIL_TAP, TAP, contents, manifest, run, said
from tests.lake.landing import KEYS, PATIENT, land_each
from tests.lake.merging import OPTIONS, overtake
from tests.test_imports import loaded_by

FORBIDDEN = re.compile(r"\b(what|where|work_id)\b", re.IGNORECASE)


def places(*arguments: str | Path) -> list[tuple[str, int]]:
    return [(row["stream"], row["sequence"]) for row in rows(*arguments)]


@pytest.fixture(params=["from the lake", "from an index"])
def source(request: pytest.FixtureRequest, root: Path) -> Sequence[str | Path]:
    """The arguments that name a lake, and an index of it or none."""
    return (root,) if request.param == "from the lake" else (root, "--index", indexed(root))


Source = Sequence[str | Path]


def test_by_name_in_the_order_of_time(source: Source) -> None:
    assert places(*source, "--tap", TAP, "--stream", "orders") == [
        ("orders", 1),
        ("orders", 2),
        ("orders", 3),
    ]
    everything = rows(*source)
    assert [row["first"] for row in everything] == sorted(row["first"] for row in everything)
    assert {row["stream"] for row in everything} == {"orders", "damaged", EVIL}


def test_an_address_is_that_of_the_file(source: Source, root: Path) -> None:
    addresses = said("find", *source, TAP, "orders").splitlines()
    assert len(addresses) == 3
    assert all(Path(address).is_file() for address in addresses)
    [row] = rows(*source, TAP, "orders", "--version", "v2")
    assert (row["url"], row["file"]) == (addresses[1], str(Path(addresses[1]).relative_to(root)))
    assert (row["records"], row["version"], row["run_id"]) == (2, 2, "run-1")
    assert Path(row["url"]).stat().st_size == row["bytes"]


def test_json_is_a_format_too(source: Source) -> None:
    assert said("find", *source, "--json") == said("find", *source, "--format", "json")
    assert said("find", *source) == said("find", *source, "--format", "url")
    assert "give only one of them" in failed(*source, "--json", "--format", "url")


def test_by_time(source: Source) -> None:
    """Three files of `orders`, that begin 0, 10 and 20 seconds after eight, of 0, 1 and 2 s."""
    orders = (*source, TAP, "orders")
    assert len(places(*orders, "--from", "2026-11-02", "--to", "2026-11-02")) == 3
    assert places(*orders, "--from", "2026-11-03") == []
    assert places(*orders, "--to", "2026-11-01") == []
    assert places(*orders, "--from", "2026-11-02T08:00:11", "--to", "..") == [
        ("orders", 2),
        ("orders", 3),
    ]
    assert places(*orders, "--from", "..", "--to", "2026-11-02T08:00:10Z") == [
        ("orders", 1),
        ("orders", 2),
    ]
    inside = ("--from", "2026-11-02T08:00:20.5", "--to", "2026-11-02T08:00:21.5")
    assert places(*orders, *inside) == [("orders", 3)]


def test_by_run_by_pattern_and_the_latest(source: Source) -> None:
    assert len(rows(*source, "--run", "run-1")) == 7
    assert rows(*source, "--run", "run-2") == []
    assert {row["stream"] for row in rows(*source, "--stream", "*e*")} >= {"orders", "damaged"}
    assert {row["tap_id"] for row in rows(*source, "--tap", "tap-[[]*")} == {EVIL_TAP}
    assert places(*source, TAP, "orders", "--latest") == [("orders", 3)]
    assert len(rows(*source, "--latest")) == len({row["stream"] for row in rows(*source)}) + 1
    until = (*source, TAP, "orders", "--latest", "--to", "2026-11-02T08:00:15")
    assert places(*until) == [("orders", 2)]


def test_a_limit_says_that_there_are_more(source: Source) -> None:
    orders = ("find", *source, TAP, "orders")
    for form in ("url", "json", "table"):
        two = run(*orders, "--format", form, "--limit", "2")
        assert "2 " in two.stderr
        assert "--limit 0 shows all" in two.stderr
        assert two.exit_code == 0
        three = run(*orders, "--format", form, "--limit", "3")
        assert three.stderr == ""
        assert run(*orders, "--format", form, "--limit", "0").stdout == three.stdout
        assert len(three.stdout.splitlines()) == len(two.stdout.splitlines()) + 1


def test_a_table_on_a_screen_has_a_limit_of_its_own(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_output, "is_terminal", lambda: True)
    monkeypatch.setattr(find_output, "TABLE_ROWS", 1)
    found = run("find", *source, "--format", "table")
    assert len(found.stdout.splitlines()) == 2
    assert "1 files are shown" in found.stderr


def test_a_vacuum_and_a_purge_change_the_address_alone(source: Source, root: Path) -> None:
    def everything() -> list[dict[str, Any]]:
        follow(root)
        return rows(*source, TAP, "merged")

    for number in range(3):
        land_more(root, "merged", [number], f"run-{number}")
    before, store, keys = everything(), open_store(root), StreamKeys(TAP, "merged")
    vacuum(store, keys, VacuumOptions(lock=PATIENT))
    purge(store, keys, timedelta(0), abandoned=timedelta(0))
    after = everything()
    assert [row.pop("merged") for row in (*before, *after)] == [False] * 3 + [True] * 3
    assert len({row.pop("url") for row in before} - {row.pop("url") for row in after}) == 3
    assert len({row.pop("file") for row in before} - {row.pop("file") for row in after}) == 3
    assert before == after
    assert [row["run_id"] for row in rows(*source, TAP, "merged", "--run", "run-1")] == ["run-1"]
    [address] = said("find", *source, TAP, "merged").splitlines()
    assert Path(address).is_file()


def test_what_is_wrong_is_said(source: Source, root: Path) -> None:
    assert "has no stream 'order'. Did you mean 'orders'?" in failed(*source, TAP, "order")
    assert "no tap 'tap-none'" in failed(*source, "--tap", "tap-none")
    assert "expected a time" in failed(*source, "--from", "yesterday")
    assert "--from before --to" in failed(*source, "--from", "2026-11-02", "--to", "2026-11-01")
    assert "expected a number" in failed(*source, "--version", "newest")
    nothing = run("find", *source, "--stream", "no*such")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "no file matches" in nothing.stderr


def failed(*arguments: str | Path) -> str:
    found = run("find", *arguments)
    assert found.exit_code == 2, found.output
    return " ".join(found.stderr.split())


def test_the_index_of_another_lake_does_not_answer(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "lake"
    land_more(other, "orders", [1])
    assert "found that of another lake" in failed(root, "--index", indexed(other))
    missing = f"sqlite:///{tmp_path}/none.db"
    assert "singerlake index rebuild" in failed(root, "--index", missing)
    assert not (tmp_path / "none.db").exists()
    assert "expected an index such as" in failed(root, "--index", "redis://here")


def test_the_index_in_the_cache_is_asked_by_its_name(root: Path, tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    asked = ("find", root, TAP, "orders")
    missing = run(*asked, "--index", "default", **cache)
    assert missing.exit_code == 2
    assert "there is no index at" in missing.stderr
    said("index", "rebuild", root, **cache)
    assert said(*asked, "--index", "default", **cache) == said(*asked)


def test_a_stream_that_cannot_be_read_hides_no_other(root: Path) -> None:
    manifest(root).write_text("{")
    found = run("find", root, "--format", "json")
    assert found.exit_code == 3
    assert "manifest" in found.stderr
    assert {json.loads(line)["stream"] for line in found.stdout.splitlines()} >= {"damaged"}


def test_a_stream_without_a_manifest_is_said(root: Path) -> None:
    manifest(root).unlink()
    found = run("find", root, TAP, "orders")
    assert (found.exit_code, found.stdout) == (3, "")
    assert "singerlake rebuild" in found.stderr


def test_a_vacuum_and_a_purge_beside_it_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    land_each(store, [1, 2, 3])
    vacuum(store, KEYS, OPTIONS)
    taken = overtake(monkeypatch, store, times=2)
    assert len(rows(tmp_path, KEYS.tap_id, KEYS.stream)) == 3 + 2 * 10
    assert len(taken) == 3


def test_it_changes_nothing(source: Source, root: Path) -> None:
    before = contents(root)
    run("find", *source, "--format", "table")
    assert contents(root) == before


def test_words_of_the_other_api_are_not_used(source: Source) -> None:
    assert not FORBIDDEN.search(said("find", "--help"))
    assert not any(FORBIDDEN.fullmatch(name) for row in rows(*source) for name in row)


def test_hostile_names_do_nothing_to_a_terminal(source: Source) -> None:
    for form in ("url", "table", "json"):
        printed = said("find", *source, "--format", form)
        assert printed.replace("\n", "").isprintable()


def test_the_extra_of_the_index_is_not_needed(root: Path) -> None:
    arguments = ["find", str(root), "--stream", "orders"]
    for more in ([], ["--index", indexed(root)]):
        loaded = loaded_by(
            "from click.testing import CliRunner\nfrom singerlake.cli import main\n"
            f"assert CliRunner().invoke(main, {[*arguments, *more]}).exit_code == 0"
        )
        assert "singerlake" in loaded
        assert not loaded & {"boto3", "jinja2", "psycopg", "pyarrow", "starlette", "uvicorn"}
