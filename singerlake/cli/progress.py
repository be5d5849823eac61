"""Progress: a bar for whoever waits longer than a second at a terminal."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from singerlake.cli.console import errors
from singerlake.cli.name import shown
from singerlake.lake.parallel import Progress as OnProgress

PATIENCE = 1.0
"""Seconds before the bar appears: a quick command shows none."""

Item = TypeVar("Item")


@contextmanager
def progress(what: str) -> Iterator[OnProgress]:
    """A bar on a terminal's stderr, and nothing where there is no terminal.

    It appears by time, whether anything was counted yet or not.
    """
    console = errors()
    bar = Progress(
        TextColumn(shown(what).markup),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(what, total=None)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True

    def update(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)

    if not console.is_terminal:
        yield update
        return
    timer.start()
    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def counted(items: Iterable[Item], total: int, show: OnProgress) -> Iterator[Item]:
    """The items, counted as they pass."""
    for done, item in enumerate(items, start=1):
        yield item
        show(done, max(done, total))
