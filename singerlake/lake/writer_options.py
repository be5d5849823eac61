"""When a writer closes files, and how it writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from singerlake.errors import ConfigError
from singerlake.format import compression
from singerlake.lake.lock import LockTimes

if TYPE_CHECKING:
    from singerlake.lake.blobs.attaching import Stage


@dataclass(frozen=True)
class WriterOptions:
    """When files are closed, and how they are written.

    `require_keys` refuses records that lack one of their key properties, as Singer targets do.
    `stage` opens the files that records name in marked properties; without it nothing is stored.
    `uploads` is how many threads write to the store: as many as suit it, if unset.
    `spool_folder` is where files are gathered: on the disk of a local lake, if unset, and for
    another in the system's temporary folder.
    """

    max_file_bytes: int = 64 * 1024 * 1024
    max_file_records: int | None = None
    compression_level: int = compression.DEFAULT
    lock: LockTimes = field(default_factory=LockTimes)
    uploads: int | None = None
    spool_folder: Path | None = None
    require_keys: bool = False
    stage: Stage | None = None

    def __post_init__(self) -> None:
        if not compression.FASTEST <= self.compression_level <= compression.SMALLEST:
            raise ConfigError(
                f"compression_level is {self.compression_level}: expected "
                f"{compression.FASTEST} to {compression.SMALLEST}"
            )
        for name in ("max_file_bytes", "max_file_records", "uploads"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ConfigError(f"{name} is {value}: expected 1 or more")
