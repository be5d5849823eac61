"""A run: one process that lands one tap, known by its run id and its writer id.

When a run ends it writes one document, which says how it ended and what it left in each stream.
`singerlake/format/run_log.py` has the log that numbers the runs of a tap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from singerlake.format import document, run_keys, times
from singerlake.format.document import Count, Moment

KIND = "singerlake.run"

Outcome = Literal["complete", "ended", "failed", "stopped"]
"""How a run ended.

- `complete`: the tap sent everything that it set out to send, as far as anybody can see.
- `ended`: the input ended, and nothing shows that the tap had finished.
- `failed`: the tap or the target failed.
- `stopped`: a signal stopped the run.
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class RunStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run left in one stream.

    A stream is named where its SCHEMA came, also without a record: then both sequence numbers
    are 0. Other writers may have committed between the first and the last number: the run's own
    files are those with its run id and its writer id.

    `bookmark` says whether the run's last STATE holds a bookmark of the stream, so that the tap
    reads on from there next time; None where the STATE does not say.
    """

    log_id: str = ""
    first_sequence: Count = 0
    last_sequence: Count = 0
    files: Count = 0
    records: Count = 0
    bytes: Count = 0
    schema_hashes: tuple[str, ...] = ()
    bookmark: bool | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A correction of the outcome by hand: by whom, when, and what was there before."""

    id: str
    by: str
    at: Moment
    before: Outcome
    reason: str = ""


class RunDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run ended. `exit_code` is the tap's, where somebody saw it.

    `versions` and `environment` are for people: the programs' versions, and the ids that Meltano
    or an orchestrator gave the process.
    """

    format: str
    format_version: int
    tap_id: str
    run_id: str
    writer_id: str
    begun: Moment
    ended: Moment
    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None
    versions: dict[str, str] = {}
    environment: dict[str, str] = {}
    traceparent: str = ""
    mark: Mark | None = None
    streams: dict[str, RunStream]

    @property
    def name(self) -> str:
        """The document's name in the folder of the tap's runs."""
        return run_keys.run_name(self.begun, self.run_id, self.writer_id)

    @property
    def identity(self) -> tuple[str, str]:
        """What tells this run from every other."""
        return self.run_id, self.writer_id


def new(**fields: Any) -> RunDocument:
    return RunDocument(format=KIND, format_version=document.VERSION, **fields)


def require_streams(streams: Mapping[str, RunStream]) -> None:
    """Raises `ValueError` for what no writer writes."""
    for name, stream in streams.items():
        if stream.first_sequence > stream.last_sequence:
            raise ValueError(
                f"stream {name!r} with the first_sequence {stream.first_sequence}, above its "
                f"last_sequence, {stream.last_sequence}"
            )


def _require(run: RunDocument) -> None:
    if not run.run_id or not run.writer_id:
        raise ValueError("a run without a run_id and a writer_id")
    require_streams(run.streams)
    times.require_utc((run.begun, run.ended, *([run.mark.at] if run.mark else [])))


decode = document.reader(RunDocument, KIND, sealed=True, require=_require)


def encode(run: RunDocument) -> bytes:
    return document.seal(document.encode(run))
