"""The grid and the tab in a real browser: what has arrived, and text that stays text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.airflow.conftest import Ground
from tests.lake.landing import land
from tests.packages import absent
from tests.site import browser as programs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

IMAGES = os.environ.get("SINGERLAKE_IMAGES", "")
"""A folder for screenshots: those of the docs were made so."""


@pytest.fixture
def browser() -> Iterator[Browser]:
    program = programs.find()
    if program is None:
        absent(programs.WITHOUT)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=programs.flags())
        yield made
        made.close()


def test_the_grid_and_the_tab_show_what_is_missing(ground: Ground, browser: Browser) -> None:
    land(ground.store, [1])
    airflow = ground.airflow
    run = airflow.trigger("seen")
    airflow.until_tasks("seen", run, {"wait_for.here": "success"})
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    _log_in(page, airflow.url)
    page.goto(f"{airflow.url}/dags/seen/runs/{run}")
    page.get_by_text("wait_for").first.wait_for(timeout=60_000)
    _keep(page, "airflow-grid.png")
    page.goto(f"{airflow.url}/dags/seen/runs/{run}/plugin/awaited_events_of_run")
    tab = page.frame_locator("iframe")
    tab.get_by_text("1 of 3 received").wait_for(timeout=60_000)
    assert tab.get_by_text("<img src=x onerror=alert(1)>").count() == 1
    assert tab.locator("img").count() == 0
    _keep(page, "airflow-tab.png")
    assert page.get_by_role("link", name="Awaited events").count() == 1
    page.goto(
        f"{airflow.url}/dags/seen/runs/{run}/tasks/wait_for.here/plugin/awaited_events_of_task"
    )
    tab.get_by_text("received").first.wait_for(timeout=60_000)
    assert dialogs == []


def _log_in(page: Page, url: str) -> None:
    page.goto(url)
    page.locator("input[name=username]").fill("admin", timeout=60_000)
    page.locator("input[name=password]").fill("test")
    page.locator("button[type=submit]").click()
    page.wait_for_url(lambda found: "/auth/login" not in found, timeout=60_000)


def _keep(page: Page, name: str) -> None:
    if IMAGES:
        page.wait_for_timeout(1500)  # for the pictures alone: until nothing moves
        page.screenshot(path=Path(IMAGES) / name)
