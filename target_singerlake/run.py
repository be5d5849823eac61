"""One run of the target, by whichever door it began: read the tap's output, land it, end well."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import IO, Any, Protocol

from singerlake.errors import InputError
from singerlake.format import message
from singerlake.lake import open_on
from singerlake.store import open_store
from target_singerlake import lineage, run_end, settings
from target_singerlake.blocks import Endless, blocks
from target_singerlake.landing import Landing
from target_singerlake.messages import at_line

SWITCH_INTERVAL = 0.0001
"""Seconds after which a thread that decodes lets another have its turn: Python's own are fifty
times as long, and have the compressor wait."""


class Intake(Protocol):
    """Takes blocks of a tap's output, and likes the next of `room` bytes."""

    counts: Counter[str]
    lines_taken: int
    room: int

    def take(self, block: bytes) -> None: ...

    def close(self) -> None: ...


class Stopped(Exception):
    """A signal came inside a message, whose rest is left."""


class Run:
    """A run of the target with these settings, which may be filled in later.

    `bad_input` are the errors that are about the tap's output, `named` gives them their names.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        log: logging.Logger,
        bad_input: tuple[type[Exception], ...] = (InputError,),
        named: Callable[[Exception], Exception] = lambda error: error,
    ) -> None:
        self.config = config
        self.stopped_by: int | None = None
        self._log, self._bad_input, self._named = log, bad_input, named
        self._landing: Landing | None = None

    @property
    def landing(self) -> Landing:
        """The run's landing: opens the lake when the first message comes."""
        if self._landing is None:
            where = settings.destination(self.config)
            options = settings.writer_options(self.config)
            lake = open_on(open_store(where.lake_root, where.storage_options), create=True)
            traced = lineage.begin(self.config, lake, where.tap_id, self._log)
            on_commit = None if traced is None else traced.committed
            writer = lake.writer(where.tap_id, where.run_id, options, on_commit)
            if traced is not None:
                traced.follow(writer)
            self._log.info("Landing %s in %s (run %s)", where.tap_id, lake.store.url, where.run_id)
            interval = float(self.config["commit_interval_seconds"])
            on_end = None if traced is None else traced.ended
            self._landing = Landing(writer, interval, self._log, on_end)
        return self._landing

    def take(self, source: IO[Any] | None, begin: Callable[[], Intake]) -> Counter[str]:
        """Read the tap's output to its end, or until a signal comes; counts the messages.

        `begin` makes what takes it. Bad input ends the run with an error, after what came before it
        was committed.
        """
        with run_end.of_failure(lambda: self._landing, self._log):
            return self._take_all(source, begin())

    def _take_all(self, source: IO[Any] | None, intake: Intake) -> Counter[str]:
        try:
            for block in blocks(source, lambda: self.stopped_by is not None, lambda: intake.room):
                if block:
                    intake.take(block)
                self.landing.tick()
        except Stopped:
            self._log.info("Stopped inside a BATCH, which no STATE covers: it comes again")
        except Endless as line:
            self.landing.finish()
            raise at_line(intake.lines_taken + 1, line.begin, message.too_long()) from None
        except self._bad_input as error:
            self.landing.finish()
            raise self._named(error) from error
        except BaseException:
            self.landing.close()
            raise
        finally:
            intake.close()
        return intake.counts

    def pause(self) -> None:
        """What is done between two blocks, inside of a message that may take long."""
        if self.stopped_by is not None:
            raise Stopped
        self.landing.tick()

    def finish(self) -> None:
        """Commit what is left, and pass on the last STATE."""
        with run_end.of_failure(lambda: self._landing, self._log):
            self.landing.finish()

    def end(self) -> None:
        """Say how the run ended. After a signal, exit as stopped."""
        without_state = bool(self.config["complete_without_state"])
        run_end.of_input(self.landing, lambda: self.stopped_by, without_state)
        if self.stopped_by is not None:
            # The tap may have died of the same signal: the end of its input is no success then.
            sys.exit(128 + self.stopped_by)

    def stop(self, signum: int, frame: FrameType | None = None) -> None:
        """On a signal end the input here: what came is committed as at its end.

        Nothing is committed inside the handler, which may have interrupted the writer.
        """
        if self.stopped_by is not None:
            self._log.warning("Signal %d again: stopping at once", signum)
            # Not by an exception: Python would wait for uploads that hang.
            os._exit(128 + signum)
        self._log.info("Signal %d: committing what has come, then stopping", signum)
        self.stopped_by = signum
