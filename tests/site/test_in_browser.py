"""The site as people use it, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from singerlake.format.keys import escape
from tests.site import lakes
from tests.site.conftest import Opener, Site

ORDERS = f"stream/{lakes.TAP}/orders.html"


def active(page: Page) -> str:
    """What has the focus, by its id or text."""
    found: str = page.evaluate(
        "document.activeElement.id || document.activeElement.textContent.trim()"
    )
    return found


def test_from_the_lake_to_a_tap_to_a_stream_and_back(opened: Opener, root: str) -> None:
    page = opened(f"{root}/index.html")
    expect(page).to_have_title("Shop lake")
    page.get_by_role("link", name=lakes.TAP).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lakes.TAP)
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders")
    page.get_by_role("link", name="Versions").click()
    expect(page.locator("#versions")).to_be_in_viewport()
    page.get_by_role("link", name=lakes.TAP).click()
    page.get_by_role("link", name="Problems").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Problems")
    page.get_by_role("link", name="Shop lake").first.click()
    expect(page).to_have_title("Shop lake")


def test_search_finds_streams_and_properties(opened: Opener, root: str) -> None:
    page = opened(f"{root}/{ORDERS}")
    page.get_by_role("combobox").fill("issu")
    page.get_by_role("option", name="issues").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("issues")
    page.get_by_role("combobox").fill("city orders")
    found = page.get_by_role("option")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("address.city")
    found.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders")
    expect(page.locator("tr:target")).to_contain_text("address.city")
    page.get_by_role("combobox").fill("no such thing")
    expect(page.locator("#results")).to_have_text("Nothing has that name.")


def test_what_was_typed_before_the_script_came_is_searched_too(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/index.html")
    held: list[Route] = []
    page.route("**/search.js", lambda route: held.append(route))
    page.goto(f"{shop.url}/{ORDERS}", wait_until="commit")
    page.get_by_role("combobox").fill("issu")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.get_by_role("option", name="issues")).to_be_visible()


def test_with_the_keyboard_alone(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/index.html")
    page.keyboard.press("Tab")
    assert active(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert active(page) == "main"
    page.keyboard.press("/")
    assert active(page) == "search"
    page.keyboard.type("order")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    chosen = page.locator('[aria-selected="true"]')
    expect(chosen).to_have_count(1)
    assert page.get_by_role("combobox").get_attribute("aria-activedescendant") == "result-0"
    page.keyboard.press("Escape")
    expect(page.locator("#results")).to_be_hidden()
    page.keyboard.type("orders")
    expect(page.get_by_role("option").first).to_contain_text("orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("orders", re.I))


def test_the_chart_shows_the_numbers_of_the_lake(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/{ORDERS}")
    chart = page.locator("#arrivals .drawing:visible")
    readings = chart.locator(".step").evaluate_all(
        "steps => steps.map(step => step.dataset.reading)"
    )
    counts = [re.search(r": (\d+) records?", reading) for reading in readings]
    assert [int(found[1]) for found in counts if found] == [day for day in lakes.DAYS if day]
    heights = chart.locator(".value").evaluate_all(
        "bars => bars.map(bar => bar.height.baseVal.value)"
    )
    highest = max(lakes.DAYS)
    assert [round(height / max(heights) * highest) for height in heights] == [
        day for day in lakes.DAYS if day
    ]
    page.get_by_text("The numbers").click()
    rows = page.locator("#arrivals tbody tr td:nth-child(2)").all_text_contents()
    assert [int(row) for row in reversed(rows)] == [day for day in lakes.DAYS if day]
    title = page.locator("#arrivals svg[role=img] title").first
    expect(title).to_have_text(re.compile("^Arrivals of orders: records by "))


def test_the_chart_is_read_by_pointing_and_by_arrow_keys(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/{ORDERS}")
    reading = page.locator("#arrivals .reading")
    page.locator("#arrivals .drawing:visible .step").last.hover()
    expect(reading).to_contain_text("8 records, 1 file")
    page.mouse.move(0, 0)
    expect(reading).to_contain_text("Point at a bar")
    page.locator("#arrivals .drawing:visible .bars").focus()
    page.keyboard.press("End")
    expect(reading).to_contain_text("8 records, 1 file")
    page.keyboard.press("ArrowLeft")
    expect(reading).to_contain_text("nothing")
    page.get_by_role("radio", name="Size").check(force=True)
    expect(page.locator('[data-measure="size"]')).to_be_visible()
    expect(page.locator('[data-measure="records"]')).to_be_hidden()


def test_versions_stand_side_by_side_with_what_changed(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/{ORDERS}")
    matrix = page.locator(".matrix")
    assert matrix.locator("thead th").all_text_contents() == ["Property", "v1", "v2", "v3"]
    total = matrix.locator("tr", has_text="total")
    expect(total.locator("td").nth(1)).to_have_class("added")
    expect(total.locator("td").nth(2)).to_have_class("changed")
    expect(matrix.locator("tr", has_text="note").locator("td").nth(2)).to_have_class("removed")
    hidden = matrix.locator("tr.same").count()
    assert hidden == 0 or not matrix.locator("tr.same").first.is_visible()
    steps = page.locator(".steps summary").all_text_contents()
    assert [re.sub(r"\W+", " ", step)[:8] for step in steps] == ["v2 to v3", "v1 to v2"]
    expect(page.locator("#p0")).to_contain_text("key")


def test_hostile_names_stay_text(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/tap/{lakes.TAP}.html")
    for name in (*lakes.HOSTILE_STREAMS, lakes.TOO_LONG):
        shown = name.replace("\0", "\\x00").replace("\u202e", "\\u202e")
        page.get_by_role("link", name=shown, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(shown)
        assert page.locator("main script, main img").count() == 0
        page.go_back()
    page.goto(f"{shop.url}/index.html")
    page.get_by_role("link", name=lakes.HOSTILE_TAP).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lakes.HOSTILE_TAP)


def test_hostile_descriptions_and_notes_stay_text(opened: Opener, root: str) -> None:
    page = opened(f"{root}/{ORDERS}")
    expect(page.locator(".lead")).to_have_text(f"Every order {lakes.IMAGE}")
    expect(page.locator("#p0 .about")).to_have_text(f"The number {lakes.IMAGE}")
    expect(page.locator("#properties")).to_contain_text(f"address.{lakes.SCRIPT}")
    page.get_by_role("combobox").fill("<script>")
    expect(page.get_by_role("option", name=lakes.SCRIPT).first).to_be_visible()
    assert page.locator("main img, main script, #results script").count() == 0
    page.goto(f"{root}/tap/{lakes.TAP}.html")
    expect(page.locator(".lead")).to_have_text(f"The shop {lakes.SCRIPT}")
    expect(page.locator(".notes")).to_contain_text("javascript:window.hacked=1")
    links = page.locator(".notes a").evaluate_all("links => links.map(link => link.href)")
    assert links == ["mailto:shop@example.org", "https://example.org/shop"]


def test_what_a_check_found_is_told_where_it_belongs(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/problems.html")
    expect(page.locator("main")).to_contain_text("manifest-corrupt")
    page.get_by_role("link", name=f"{lakes.TAP} / lost").click()
    expect(page.locator("#problems")).to_contain_text("file-missing")
    page.goto(f"{shop.url}/{ORDERS}")
    expect(page.locator("#problems")).to_contain_text("Nothing is wrong with this stream.")
    page.goto(f"{shop.url}/stream/{lakes.TAP}/listed.html")
    expect(page.locator(".tiles")).to_contain_text("the manifest is missing")


def test_snippets_are_copied(opened: Opener, root: str) -> None:
    page = opened(f"{root}/{ORDERS}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("radio", name="Spark").check(force=True)
    page.locator(".snippet:visible .copy").click()
    expect(page.locator(".snippet:visible .copy")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert '"s3://shop/lake"' in copied
    assert "read_stream(" in copied


def test_streams_are_sorted_by_a_column(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/tap/{lakes.TAP}.html")
    page.get_by_role("button", name="Records").click()
    assert page.locator(".streams tbody th").first.text_content() is not None
    expect(page.locator(".streams tbody th").first).to_contain_text("orders")
    page.get_by_role("button", name="Records").click()
    expect(page.locator(".streams tbody th").last).to_contain_text("orders")


def background(page: Page) -> str:
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def test_dark_by_the_systems_wish_and_by_the_readers(opened: Opener, shop: Site) -> None:
    root = shop.url
    light = background(opened(f"{root}/index.html", color_scheme="light"))
    page = opened(f"{root}/index.html", color_scheme="dark")
    dark = background(page)
    assert light != dark
    page.get_by_role("button", name="Switch to light colours").click()
    assert background(page) == light
    page.goto(f"{root}/{ORDERS}")
    assert background(page) == light


def test_a_phone_never_scrolls_sideways(opened: Opener, shop: Site) -> None:
    page = opened(f"{shop.url}/index.html", viewport={"width": 360, "height": 740}, has_touch=True)
    for path in ("index.html", "problems.html", f"tap/{lakes.TAP}.html", ORDERS):
        page.goto(f"{shop.url}/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path


LONGEST_AGE = "59 minutes ago"
OVERFLOWING = """() => {
  const found = [];
  for (const card of document.querySelectorAll(".tiles > div, .card")) {
    const padding = parseFloat(getComputedStyle(card).paddingRight);
    const edge = card.getBoundingClientRect().right - padding;
    const texts = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode, range = document.createRange();
      if (text.parentElement.closest(".scroll, pre")) continue;  // these scroll in their own box
      range.selectNodeContents(text);
      const right = Math.max(0, ...[...range.getClientRects()].map(box => box.right));
      if (right > edge) found.push(text.textContent.trim());
    }
  }
  return found;
}"""


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("width", [1440, 1280, 390])
def test_no_text_leaves_its_card(opened: Opener, shop: Site, width: int, scripts: bool) -> None:
    size = {"width": width, "height": 900}
    page = opened(f"{shop.url}/index.html", viewport=size, java_script_enabled=scripts)
    for path in ("index.html", "problems.html", f"tap/{lakes.TAP}.html", ORDERS):
        page.goto(f"{shop.url}/{path}")
        if scripts:
            ages = page.locator("time.age")
            ages.evaluate_all("(all, age) => all.map(one => one.textContent = age)", LONGEST_AGE)
        assert page.evaluate(OVERFLOWING) == [], path


def test_everything_is_told_without_scripts(opened: Opener, shop: Site) -> None:
    path = f"stream/{lakes.TAP}/{escape('a/b')}.html"
    page = opened(f"{shop.url}/{path}", java_script_enabled=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("a/b")
    expect(page.locator(".tiles")).to_contain_text(" UTC")
    expect(page.locator(".snippet:visible")).to_have_count(1)
