"""A replay that passes every file on as it is stored, without the Singer SDK."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from itertools import chain
from types import FrameType
from typing import Any

from singerlake.format.catalogue import Entry
from singerlake.format.manifest import File
from singerlake.lake import Stream
from singerlake.plugin.exact_json import exact_json
from singerlake.plugin.measurement import RecordCounter, SyncTimer
from tap_singerlake import schema_line
from tap_singerlake.content import Opened
from tap_singerlake.output import Output
from tap_singerlake.passing import pass_through
from tap_singerlake.planned import Planned, planned
from tap_singerlake.settings import Window

PATIENCE = 10
"""Seconds that a run may take to end after a signal: its reader may have stopped to read."""

State = dict[str, Any]


class Run:
    """Replays streams one after another; STATE follows each of their files."""

    def __init__(self, window: Window, log: logging.Logger) -> None:
        self.state: State = {}
        self._window, self._log = window, log
        self._output = Output()
        self._emitted = ""
        self._written: State | None = None
        self._stopping = False

    def write_state(self) -> None:
        """Where it differs from the one before."""
        if self._written is None or self.state != self._written:
            message = {"type": "STATE", "value": self.state}
            self._output.write_blocks([exact_json(message).encode()])
            self._written = deepcopy(self.state)

    def replay(self, source: Stream, entry: Entry) -> None:
        """One stream, from its bookmark on."""
        log = self._log.getChild(source.name)
        log.info("Beginning sync of '%s' in %s mode", source.name, "incremental")
        bookmark = self.state.setdefault("bookmarks", {}).setdefault(source.name, {})
        plan = planned(source, entry, self._window, bookmark, log)
        files = self._begin(source.name, entry, plan)
        try:
            with RecordCounter(source.name) as counter, SyncTimer(source.name):
                for file, blocks in files:
                    counter.increment(self._pass_on(file, blocks, plan))
                    if not plan.replay.snapshot.by_listing:
                        bookmark.update(plan.replay.state(file))
                    self.write_state()
            self.write_state()
        except Exception:
            log.error("An unhandled error occurred while syncing '%s'", source.name)
            raise

    def _begin(self, stream: str, entry: Entry, plan: Planned) -> Iterator[Opened]:
        """The SCHEMA of the first file, or the catalogue's if there is none; then all files."""
        self._emitted = ""
        for file, blocks in plan.opened:
            head = next(blocks)
            self._begin_version(file, head.partition(b"\n")[0], plan)
            return chain([(file, chain([head], blocks))], plan.opened)
        self._output.write_blocks([plan.merged or schema_line.newest(stream, entry)])
        return iter(())

    def _pass_on(self, file: File, blocks: Iterator[bytes], plan: Planned) -> int:
        line, _, rest = next(blocks).partition(b"\n")
        self._begin_version(file, line, plan)
        return pass_through(file, chain([rest], blocks), self._output)

    def _begin_version(self, file: File, line: bytes, plan: Planned) -> None:
        """The SCHEMA where it is another than before."""
        version = "merged" if plan.merged else file.schema_hash
        if version != self._emitted:
            self._emitted = version
            self._output.write_blocks([plan.merged or line])

    def stop(self, signum: int, frame: FrameType | None = None) -> None:
        """On a signal end with the STATE, behind the line that is being written.

        At once on a second signal, which is an alarm where nobody takes that line.
        """
        if self._stopping:
            self._log.warning("Signal %d while stopping: ending at once", signum)
            # Not by an exception: the write that hangs would go on.
            os._exit(128 + signum)
        self._stopping = True
        self._log.info("Signal %d: stopping", signum)
        signal.signal(signal.SIGALRM, self.stop)
        signal.alarm(PATIENCE)
        self._output.between_lines(partial(self._end, signum))

    def _end(self, signum: int) -> None:
        # Before the state is loaded there is none to pass on: an empty one would replace it.
        if self.state:
            self.write_state()
        sys.exit(128 + signum)
