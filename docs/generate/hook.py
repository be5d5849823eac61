"""What mkdocs calls while it builds the site.

The reference is made from the code at each build; what lies in docs/reference/ is for those who
come there on GitHub, and says so. Links that leave docs/ work on GitHub as they
are; on the site they lead to a page or to a copy of the file.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

# mkdocs takes our folder off the path again after it has loaded this file.
sys.path.append(str(Path(__file__).parent))

import api
import commands
import error_list
import plugin_settings
import spark_options

REPOSITORY = Path(__file__).parents[2]
GENERATED = {
    "reference/commands.md": commands.page,
    "reference/settings.md": plugin_settings.page,
    "reference/spark-options.md": spark_options.page,
    "reference/python.md": api.page,
    "reference/errors.md": error_list.page,
}
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files outside of docs/ that are pages of the site."""

_LINK = re.compile(r"(\[[^\]\n]*\]\()([^)\s]+)(\))")


def on_config(config: Any) -> Any:
    config["nav"] = [_expanded(entry) for entry in config["nav"]]
    return config


def _expanded(entry: Any) -> Any:
    """A section with `folder/*.md` has every page of the folder, besides its README.md."""
    if not isinstance(entry, dict):
        return entry
    ((title, below),) = entry.items()
    if not isinstance(below, list):
        return entry
    pages: list[Any] = []
    for one in below:
        if isinstance(one, str) and "*" in one:
            found = sorted((REPOSITORY / "docs").glob(one))
            pages += [f"{path.parent.name}/{path.name}" for path in found if path.stem != "README"]
        else:
            pages.append(one)
    return {title: pages}


def on_files(files: Files, config: Any) -> Files:
    for path, page in GENERATED.items():
        placeholder = files.get_file_from_path(path)
        if placeholder is None:
            raise PluginError(f"docs/{path} is missing: links on GitHub lead there")
        files.remove(placeholder)
        files.append(File.generated(config, path, content=page()))
    for source, path in PAGES.items():
        text = (REPOSITORY / source).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=_relinked(text, source, path)))
    for name in _linked_outside():
        copy = File.generated(config, _copied(name), abs_src_path=str(REPOSITORY / name))
        files.append(copy)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    path = page.file.src_uri
    if page.file.generated_by is None:
        markdown = _relinked(markdown, f"docs/{path}", path)
    return markdown


def _relinked(text: str, source: str, path: str) -> str:
    """The text with its links to files of the repository as links within the site."""

    def relink(match: re.Match[str]) -> str:
        target, hash_, anchor = match[2].partition("#")
        if not target or "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        name = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if (REPOSITORY / name).is_dir() and name != "docs":
            return match[1][1:-2]  # a folder is no page: its name stays, as text
        there = posixpath.relpath(_on_site(name), posixpath.dirname(path) or ".")
        return match[1] + there + hash_ + anchor + match[3]

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(relink, part) for part in parts)


def _on_site(name: str) -> str:
    """Where a file of the repository is on the site."""
    if name in ("README.md", "docs"):
        return "README.md"
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if not (REPOSITORY / name).is_file():
        raise PluginError(f"a link leads to {name}, which is not there")
    return PAGES.get(name, _copied(name))


def _copied(name: str) -> str:
    return f"repository/{name}"


def _linked_outside() -> set[str]:
    """The files outside of docs/ that its pages, and those in `PAGES`, link to."""
    found = set()
    sources = [*(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / name for name in PAGES)]
    for source in sources:
        for match in _LINK.finditer(source.read_text(encoding="utf-8")):
            target = match[2].partition("#")[0]
            file = (source.parent / target).resolve()
            if "://" in target or not target or not file.is_file():
                continue
            if file.is_relative_to(REPOSITORY) and not file.is_relative_to(REPOSITORY / "docs"):
                found.add(file.relative_to(REPOSITORY).as_posix())
    return found - PAGES.keys() - {"README.md"}
