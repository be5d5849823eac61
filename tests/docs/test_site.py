"""The docs as a site: it builds without a warning, needs no network, and has what the code has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from singerlake import errors
from singerlake.cli import main
from tap_singerlake.settings import SETTINGS as TAP_SETTINGS
from target_singerlake.settings import SETTINGS as TARGET_SETTINGS

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loaded(HTMLParser):
    """What a browser loads by itself with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(given.get("src") or "")
        elif tag == "link" and given.get("rel") != "canonical":
            self.addresses.append(given.get("href") or "")


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert not [url for url in loaded.addresses if "//" in url], page.name
    for style in site.rglob("*.css"):
        assert "url(http" not in style.read_text(encoding="utf-8"), style.name


def test_search_knows_every_part_of_the_docs(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    for page in ("tutorial", "spec", "operations/recovery", "reference/commands", "comparison"):
        assert f'"{page}.html' in index


def commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{context.command_path} {name}"
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, context, info_name=name))


def test_every_command_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    found = list(commands(main, click.Context(main, info_name="singerlake")))
    assert "singerlake check" in found
    for command in found:
        assert f'id="{command.replace(" ", "-")}"' in text, command
    # A paragraph of code that click keeps as it is became a code block.
    assert "\b" not in text


def test_every_setting_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for name in [*TARGET_SETTINGS["properties"], *TAP_SETTINGS["properties"]]:
        assert f"<code>{name}</code>" in text


def test_every_error_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "errors.html").read_text(encoding="utf-8")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.SingerlakeError):
            assert f"<code>{name}</code>" in text


@pytest.mark.parametrize(
    "name",
    ["singerlake.open_lake", "singerlake.processor.Processor", "singerlake.spark.read_stream"],
)
def test_the_public_names_are_described(site: Path, name: str) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert f'id="{name}"' in text


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    yield from re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(page: Path) -> set[str]:
    """The headings as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_on_github_too(page: Path) -> None:
    """The build holds the links of the site; these are the files as they lie here."""
    for link in links(page):
        if "://" not in link and not link.startswith("mailto:"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page.relative_to(ROOT)} links to {link}"
            assert not anchor or anchor in anchors(target), f"no such heading: {link}"
