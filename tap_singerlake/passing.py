"""Files that pass through as they are stored."""

from __future__ import annotations

from collections.abc import Iterable

from singerlake.format.manifest import File
from singerlake.lake.snapshot import UNKNOWN
from tap_singerlake import content
from tap_singerlake.output import Output


def pass_through(file: File, blocks: Iterable[bytes], output: Output) -> int:
    """Write what a file holds behind its SCHEMA line, less blank lines.

    Returns how many records there were.
    """
    counted = 0
    if not file.writer_id:
        # Only files of other tools can have blank lines: our writers keep none. To search
        # every block would take a sixth of the whole replay's time.
        blocks = map(content.without_blank_lines, blocks)
    for block in blocks:
        if block:
            output.write_blocks([block])
            counted += content.records_in(block) if file.records == UNKNOWN else 0
    return counted if file.records == UNKNOWN else file.records
