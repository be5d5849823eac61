"""The page to find days and runs on: the command hands it the rows of an index."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from playwright.sync_api import expect

from singerlake.cli import main
from singerlake.index import open_index, rebuild_index
from singerlake.lake import open_on
from singerlake.site import found, page
from singerlake.site.build import build
from singerlake.site.found import Found, FoundRows
from singerlake.store import open_store
from tests.lake.landing import STREAM, TAP, land
from tests.lake.running import Running, land_run
from tests.site.conftest import Opener

EVIL = "<script>window.hacked=1</script>"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Runs on three days, in two streams."""
    store = open_store(tmp_path / "lake")
    land_run(store, "first-run", [0, 1])
    land_run(store, "second-run", [86_400], [2 * 86_400])
    items = Running(store, "second-run", "items")
    items.commit([5])
    items.end()
    return tmp_path / "lake"


@pytest.fixture
def index(lake: Path) -> str:
    url = f"sqlite:///{lake.parent / 'index.db'}"
    with closing(open_index(url)) as storage:
        rebuild_index(storage, open_on(open_store(lake)), lambda event: pytest.fail(event.error))
    return url


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["site", *map(str, arguments)])


def test_the_command_hands_the_rows_of_an_index_over(
    lake: Path, index: str, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    made = run("build", lake, "--out", out, "--index", index)
    assert made.exit_code == 0, made.output
    text = (out / page.FIND).read_text()
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        assert f"<bdi>{day}</bdi>" in text
    assert text.count("<bdi>second-run</bdi>") == 2  # of each stream
    assert f'href="../stream/{TAP}/{STREAM}.html"' in text
    assert f'href="{page.FIND}">Find</a>' in (out / page.HOME).read_text()
    stream = (out / "stream" / TAP / f"{STREAM}.html").read_text()
    assert f'href="../../{page.FIND}#{TAP}%20{STREAM}"' in stream


def test_without_an_index_there_is_no_such_page(lake: Path, index: str, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert run("build", lake, "--out", out, "--index", index).exit_code == 0
    assert run("build", lake, "--out", out).exit_code == 0
    assert not (out / page.FIND).exists()
    assert "Find</a>" not in (out / page.HOME).read_text()


def test_the_index_of_another_lake_is_refused(index: str, tmp_path: Path) -> None:
    land(open_store(tmp_path / "other"), [1])
    made = run("build", tmp_path / "other", "--out", tmp_path / "site", "--index", index)
    assert made.exit_code == 2
    assert "another lake" in made.output
    assert not (tmp_path / "site").exists()


ROW = Found(
    tap=TAP,
    stream=STREAM,
    key=EVIL,
    files=1,
    records=2,
    bytes=3,
    first=datetime(2026, 1, 1, tzinfo=timezone.utc),
    last=datetime(2026, 1, 2, tzinfo=timezone.utc),
)


def test_the_newest_rows_are_shown_and_the_others_counted(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "ROWS_SHOWN", 3)
    rows = tuple(
        replace(ROW, key=f"run-{number}", last=ROW.last + timedelta(days=number))
        for number in range(5)
    )
    build(open_on(open_store(lake)), tmp_path / "site", found=FoundRows("index", (), rows))
    text = (tmp_path / "site" / page.FIND).read_text()
    assert text.index("run-4<") < text.index("run-3<") < text.index("run-2<")
    assert "run-1<" not in text
    assert "And 2 older" in text


def test_rows_are_searched_in_a_browser_offline(opened: Opener, lake: Path, tmp_path: Path) -> None:
    rows = (
        replace(ROW, key="2026-01-01"),
        replace(ROW, key="2026-01-02"),
        replace(ROW, key="2026-01-02", stream="gone"),
    )
    built = tmp_path / "site"
    build(open_on(open_store(lake)), built, found=FoundRows("index", rows, (ROW,)))
    browser_page = opened(f"{built.as_uri()}/{page.FIND}")
    shown = browser_page.locator("tbody tr:visible")
    expect(shown).to_have_count(4)
    browser_page.get_by_label("Show only rows").fill("01-02 orders")
    # Each row has the times of its records too.
    expect(shown).to_have_count(3)
    browser_page.get_by_label("Show only rows").fill("GONE")
    expect(shown).to_have_count(1)
    expect(browser_page.locator("#filtered")).to_have_text("1 of 4 rows")
    browser_page.goto(f"{built.as_uri()}/stream/{TAP}/{STREAM}.html")
    browser_page.get_by_role("link", name="Its days and runs").click()
    expect(browser_page.locator("tbody tr:visible")).to_have_count(3)
    browser_page.get_by_role("link", name=f"{TAP} / {STREAM}").first.click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text(STREAM)
