"""A browser for the whole folder, and sites to look at.

Whatever a test does in a page, at its end no script of a tap has run, no dialog was opened, nothing
was blocked or failed, and no request left the machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

from singerlake.lake import check, clock
from singerlake.site.build import Built, build
from singerlake.site.problems import of_report
from singerlake.site.serve import Fresh, Server
from tests import packages
from tests.lake.landing import QUICK
from tests.site import browser as machine
from tests.site import lakes

Opener = Callable[..., Page]


@dataclass(frozen=True)
class Site:
    """A site in a folder."""

    folder: Path
    built: Built

    @property
    def url(self) -> str:
        return self.folder.as_uri()


# Not for the session: while Playwright runs, this thread has an event loop, which tests of other
# folders do not expect.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = machine.find()
    if path is None:
        packages.absent(machine.WITHOUT)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=machine.flags())


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a page, in a window of its own; the options are those of a browser context."""
    contexts = []
    pages: list[Page] = []
    wrong: list[str] = []
    requests: list[str] = []

    def failed(request: Request) -> None:
        # A page that is left takes with it what it was still loading.
        if request.failure != "net::ERR_ABORTED":
            wrong.append(f"{request.failure}: {request.url}")

    def dialog(opened: Dialog) -> None:
        wrong.append(f"dialog: {opened.message}")
        opened.dismiss()

    def open_page(url: str, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        context.on("request", lambda request: requests.append(request.url))
        context.on("requestfailed", failed)
        context.on("weberror", lambda error: wrong.append(f"error: {error.error}"))
        context.on("console", lambda line: wrong.append(f"console: {line.text}"))
        context.on("dialog", dialog)
        page = context.new_page()
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert page.evaluate("window.hacked") is None
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in requests if not url.startswith(("file:///", "http://127.0.0.1:"))] == []


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site of `lakes.shop`, checked."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as monkeypatch:
        lake = lakes.shop(monkeypatch)
        checked = of_report(check(lake.store, times=QUICK), clock.now())
        built = build(lake, folder, title="Shop lake", address="s3://shop/lake", checked=checked)
    return Site(folder, built)


@pytest.fixture(scope="package")
def served(shop: Site) -> Iterator[str]:
    """Outlives every page, which may still load something when its test is over."""
    with Server(shop.folder, "127.0.0.1", 0, Fresh(lambda: None, 3600)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.url.removesuffix("/index.html")
        server.shutdown()


@pytest.fixture(params=["from a folder", "served"])
def root(request: pytest.FixtureRequest, shop: Site, served: str) -> str:
    """The address of the shop's site, in both ways of looking at it."""
    return served if request.param == "served" else shop.url
