"""The page of a tap shows its recent runs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from singerlake.format.run import RunStream
from singerlake.lake import Lake, open_on
from singerlake.lake.runs import end
from singerlake.site import page
from singerlake.site.build import build
from singerlake.site.runs import RECENT
from tests.lake.landing import KEYS, TAP, land, new_store, overwrite
from tests.lake.runs.made import RUNS, made

EVIL = "<script>window.hacked=1</script>"
START = datetime(2030, 1, 1, tzinfo=timezone.utc)


def a_lake() -> Lake:
    store = new_store()
    land(store, [1])
    return open_on(store)


def shown(lake: Lake, folder: Path) -> str:
    build(lake, folder)
    return (folder / page.of_tap(page.file_names([TAP])[TAP])).read_text()


def test_the_newest_runs_are_on_the_page_of_their_tap(tmp_path: Path) -> None:
    lake = a_lake()
    for number in range(RECENT + 2):
        begun = START + timedelta(hours=number)
        outcome = "failed" if number % 2 else "complete"
        streams = {"orders": RunStream(records=1234)}
        run_id = EVIL if number == RECENT else f"load-{number}"
        end(lake.store, made(number, begun=begun, outcome=outcome, streams=streams, run_id=run_id))
    text = shown(lake, tmp_path / "site")
    assert text.count('<span class="chip error">failed</span>') == RECENT // 2
    assert text.count('<span class="chip key">complete</span>') == RECENT // 2
    assert "1,234" in text
    assert "5 min 0 s" in text
    assert text.index(f"load-{RECENT + 1}<") < text.index("load-9<")
    assert "load-1<" not in text
    assert EVIL not in text


def test_a_run_without_a_document_is_shown(tmp_path: Path) -> None:
    text = shown(a_lake(), tmp_path / "site")
    assert '<span class="chip leftover">open</span>' in text


def test_damage_is_a_problem_and_hides_nothing_else(tmp_path: Path) -> None:
    lake = a_lake()
    end(lake.store, made(1))
    overwrite(lake.store, KEYS.manifest, b"{")
    assert "run-1<" in shown(lake, tmp_path / "one")
    overwrite(lake.store, RUNS.log, b"{")
    text = shown(lake, tmp_path / "two")
    assert "run-1<" not in text
    assert "singerlake.run_log" in text
