"""The end of a run: the verdict, and the document that says it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from singerlake.errors import SingerlakeError
from target_singerlake import tap_exit, verdict
from target_singerlake.landing import Landing
from target_singerlake.tap_exit import TapExit


@contextmanager
def of_failure(landing: Callable[[], Landing | None], logger: logging.Logger) -> Iterator[None]:
    """What fails in here ends the run; where that cannot be written, the failure counts."""
    try:
        yield
    except BaseException as error:
        if (begun := landing()) is not None:
            try:
                begun.end(verdict.of_failure(error))
            except SingerlakeError as second:
                logger.warning("The run has no document: %s", second)
        raise


def of_input(landing: Landing, signal: Callable[[], int | None], without_state: bool) -> None:
    """The input ended, or a signal came, and everything is committed."""
    tap = TapExit()
    if signal() is None:
        tap = tap_exit.wait(os.environ, lambda: signal() is not None)
    if (number := signal()) is not None:
        ended = verdict.of_signal(number)
    else:
        ended = verdict.of_end(landing.last_state, landing.covered, tap, without_state)
    landing.end(ended, tap.code)
