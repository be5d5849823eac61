"""Completing the names of taps and streams from the lake that was typed before them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import click

from singerlake.errors import SingerlakeError
from singerlake.lake import Lake, open_lake


def complete_tap(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The lake's taps that begin so; none where the lake cannot be read."""
    with _quietly():
        return _matching((tap.tap_id for tap in _lake(context).taps()), incomplete)
    return []


def complete_stream(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The streams of the tap that was typed."""
    with _quietly():
        tap = str(context.params.get("tap") or "")
        return _matching(_lake(context).tap(tap).catalogue(), incomplete)
    return []


@contextmanager
def _quietly() -> Iterator[None]:
    """No error, and no warning: it would be drawn into the line that is being typed."""
    logging.disable()
    try:
        with suppress(SingerlakeError):
            yield
    finally:
        logging.disable(logging.NOTSET)


def _lake(context: click.Context) -> Lake:
    # Before the value of an option, click has not sorted the other words yet.
    words = [context.params.get("root"), *context.args, os.environ.get("SINGERLAKE_ROOT")]
    return open_lake(next((word for word in words if word), ""))


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    """Hostile names are left out: shells take completions line by line, and obey escapes."""
    return sorted(
        name for name in names if name.startswith(incomplete) and name.isprintable() and name
    )
