"""What a replay has read of a stream so far."""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.format.manifest import File


@dataclass(frozen=True)
class Replayed:
    """Files up to `sequence` of a log, and the records that came out of them."""

    log_id: str = ""
    sequence: int = 0
    files: int = 0
    records: int = 0
    bytes: int = 0

    def with_file(self, log_id: str, file: File, records: int) -> Replayed:
        return Replayed(
            log_id=log_id,
            sequence=file.sequence if log_id else 0,
            files=self.files + 1,
            records=self.records + records,
            bytes=self.bytes + file.bytes,
        )
