"""Taps from PyPI into the lake, and targets from PyPI out of it: the same records at both ends."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from singerlake import check, open_lake
from tests.plugins import pipes, venvs
from tests.plugins.pipes import Pipes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "name": ["Ada", "Núñez, Tomás", '大阪 "x"', "tab\there", "🫖"][number % 5],
        "amount": number / 8 - 3,
        "count": number * 10**12,
        "paid": number % 2 == 0,
        "note": None if number % 3 else "first line\nsecond line",
    }
    for number in range(1, 251)
]
NESTED = {"tags": ["a", "b"], "address": {"city": "Bern", "geo": {"lat": 46.948, "lon": 7.4474}}}
STREAMS = {"tap-jsonl": "payments", "tap-spreadsheets": "sheet"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with what two taps read: JSON lines with nested values, and a CSV file of text."""
    folder = tmp_path_factory.mktemp("plugins")
    source = folder / "payments.jsonl"
    source.write_text("".join(json.dumps(row | NESTED) + "\n" for row in ROWS), encoding="utf-8")
    sheet = folder / "sheet.csv"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0].keys(), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(ROWS)
    jsonl = {"path": str(source), "stream_name": "payments", "primary_keys": ["id"]}
    sheets = {"path": str(sheet), "format": "csv", "table_name": "sheet", "primary_keys": ["id"]}
    for name, settings in {"tap-jsonl": jsonl, "tap-spreadsheets": {"files": [sheets]}}.items():
        target = {"lake_root": str(folder / "lake"), "tap_id": f"{name}--pypi"}
        state = Pipes(folder).run((venvs.program(name), settings), (pipes.TARGET, target))
        assert STREAMS[name] in state["bookmarks"]
    assert check(open_lake(folder / "lake").store).clean
    return folder / "lake"


def landed(lake: Path, tap: str) -> list[dict[str, Any]]:
    return list(open_lake(lake).stream(f"{tap}--pypi", STREAMS[tap]).snapshot().records())


def without_extras(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the columns that the taps add."""
    return [{name: row[name] for name in row if not name.startswith("_sdc_")} for row in rows]


def as_text(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """As a CSV file has them."""
    names = ROWS[0].keys()
    return [{name: "" if row[name] is None else str(row[name]) for name in names} for row in rows]


def test_tap_jsonl_into_the_lake(lake: Path) -> None:
    assert without_extras(landed(lake, "tap-jsonl")) == [row | NESTED for row in ROWS]


def test_tap_spreadsheets_into_the_lake(lake: Path) -> None:
    assert without_extras(landed(lake, "tap-spreadsheets")) == as_text(ROWS)


def replay(lake: Path, folder: Path, tap: str, target: str, settings: dict[str, Any]) -> list[str]:
    """Out of the lake into a target, twice: the lines that the second run added."""
    source = (pipes.TAP, {"lake_root": str(lake), "tap_id": f"{tap}--pypi"})
    program = venvs.program(target)
    state = Pipes(folder).run(source, (program, settings))
    assert state["bookmarks"][STREAMS[tap]]["sequence"] == 1
    second = folder / "second"
    second.mkdir()
    again = settings | {"destination_path": str(second)}
    Pipes(folder).run(source, (program, again), state=state)
    return [line for path in second.iterdir() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("tap", STREAMS)
def test_target_jsonl_out_of_it(lake: Path, tmp_path: Path, tap: str) -> None:
    settings = {"destination_path": str(tmp_path), "do_timestamp_file": False}
    assert replay(lake, tmp_path, tap, "target-jsonl", settings) == []
    text = (tmp_path / f"{STREAMS[tap]}.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == landed(lake, tap)


@pytest.mark.parametrize("tap", STREAMS)
def test_target_csv_out_of_it(lake: Path, tmp_path: Path, tap: str) -> None:
    settings = {"destination_path": str(tmp_path)}
    second = replay(lake, tmp_path, tap, "meltanolabs-target-csv", settings)
    assert len(second) <= 1, "at most the header"
    with (tmp_path / f"{STREAMS[tap]}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(ROWS)
    assert [{name: row[name] for name in ROWS[0]} for row in rows] == as_text(landed(lake, tap))
