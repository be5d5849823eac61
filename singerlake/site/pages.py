"""Pages from templates. Whatever a tap or a person wrote is text on them, and nothing else."""

from __future__ import annotations

from datetime import datetime
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from singerlake.lake.status import Status
from singerlake.site import page, words
from singerlake.site.properties import joined
from singerlake.site.survey import SIZES

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Browsers load and run the site's own files, and nothing that a name or a description holds."""


class Pages:
    """The templates, with what all pages of one site share."""

    def __init__(
        self,
        title: str,
        address: str,
        built: datetime,
        *,
        has_find: bool = False,
        status: Status | None = None,
    ) -> None:
        self.title, self.address, self.built = title, address, built
        self._environment = Environment(
            loader=PackageLoader("singerlake.site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_visible,
        )
        self._environment.filters.update(
            count=words.count,
            fragment=words.fragment,
            machine=words.machine,
            moment=words.moment,
            plural=words.plural,
            short=words.short,
            size=words.size,
        )
        self._environment.globals.update(
            address=address,
            built=built,
            find_page=page.FIND if has_find else "",
            home=page.HOME,
            joined=joined,
            policy=POLICY,
            problems_page=page.PROBLEMS,
            site_title=title,
            singerlake_version=version("singerlake"),
            status=status or Status(),
            size_names=_size_names(),
        )

    def render(self, template: str, path: str, **values: Any) -> bytes:
        """The page that is written to `path`; its links are relative to there."""
        found = self._environment.get_template(template)
        text = found.render(here=path, root=page.to_root(path), **values)
        return text.encode("utf-8", "replace")


def _visible(value: Any) -> Any:
    """For every value on its way to a page."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.visible(value)
    return value


def _size_names() -> list[str]:
    """`under 10 kB`, for each class of file sizes."""
    bounds = [words.size(bound).replace(".0", "") for bound in SIZES[:-1]]
    return [*(f"under {bound}" for bound in bounds), f"{bounds[-1]} and more"]
