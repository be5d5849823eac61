"""The writer: Singer lines in, committed files out, any number of streams at once.

    with lake.writer("tap-x--meltano", run_id="…") as writer:
        for line in sys.stdin.buffer:
            writer.write(line)
        writer.commit()

The caller's thread only sorts lines into buffers. Compression runs on a second thread, uploads
and commits on a few more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from singerlake.errors import BadMessage, RecordBeforeSchema
from singerlake.format import blob as blobs
from singerlake.format import block, catalogue, message
from singerlake.format.block import RecordDecoder, Summary
from singerlake.format.keys import StreamKeys, escape
from singerlake.format.manifest import File
from singerlake.format.message import Envelope
from singerlake.format.origin import Origin
from singerlake.format.run import Outcome, RunStream
from singerlake.format.schema import Schema
from singerlake.lake import clock, registry, runs
from singerlake.lake.blobs import attaching
from singerlake.lake.blobs.staged import Blob, Staged
from singerlake.lake.collision import require_one_schema
from singerlake.lake.delivery import Delivery, OnCommit, Source
from singerlake.lake.identity import new_writer_id, require_run_id
from singerlake.lake.lane import Flush, Lane
from singerlake.lake.scratch import spool_folder
from singerlake.lake.spool import CHUNK, PORTION, Compressor, OpenFile, Spool
from singerlake.lake.writer_options import WriterOptions
from singerlake.store import Store

BUFFERED = 32 * 1024 * 1024
"""Raw bytes that all open files together may hold back for fuller chunks."""


class Writer:
    """Writes the streams of one tap in one run. Use from one thread.

    `on_commit` is called after each commit, on a thread of the writer: it must not wait or raise.
    """

    def __init__(
        self,
        store: Store,
        tap_id: str,
        run_id: str,
        options: WriterOptions | None = None,
        on_commit: OnCommit | None = None,
    ) -> None:
        self.options = options or WriterOptions()
        self.writer_id = new_writer_id()
        self.run_id = run_id
        self.begun = clock.now()
        require_run_id(run_id)
        self._store, self._tap_id = store, tap_id
        self._lanes: dict[str, Lane] = {}
        self._buffered = self._opened_files = 0
        # Only what the compressor has counts for the size of a file: small ones get it sooner.
        self._portion = min(PORTION, max(CHUNK, self.options.max_file_bytes))
        self._folder = spool_folder(self.options.spool_folder, store.spool_folder)
        self._compressor = Compressor()
        source = Source(tap_id, run_id, self.writer_id)
        uploads = self.options.uploads or store.writes_at_once
        self._delivery = Delivery(store, source, self.options.lock, uploads, on_commit)
        self.pending = self._delivery.pending

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose SCHEMA came."""
        return tuple(self._lanes)

    def attach(self, stream: str, staged: Staged) -> Blob:
        """Have a file of any kind stored before the next line of the stream is committed.

        Its hash is known when this returns. Raises `BadFile`.
        """
        self._delivery.refuse_after_failure()
        return self._delivery.attach(self._lane(stream), staged)

    @property
    def landed(self) -> dict[str, RunStream]:
        """What is committed of each stream whose SCHEMA came."""
        return {name: lane.landed for name, lane in self._lanes.items()}

    def write(self, line: bytes, *, as_it_is: bool = False) -> Envelope | None:
        """Take one line of a tap's output.

        SCHEMA, RECORD and ACTIVATE_VERSION are kept; the envelope of any other message is
        returned for the caller to deal with, and so is that of a blank line, as None. What a
        record names in marked properties is stored, unless the caller has attached it itself, and
        says so in the line, which is then taken `as_it_is`. Raises `BadMessage` and `BadFile`.
        """
        line = line.rstrip(b"\n")
        if not line.strip():
            return None
        if b"\n" in line:
            raise BadMessage("expected a message on one line, found a line feed inside it")
        envelope = message.decode_sent(line)
        if envelope.type == "SCHEMA":
            self.schema(envelope.stream, line)
        elif envelope.type in message.STORED:
            if envelope.type == "RECORD" and self.options.require_keys:
                self._lane(envelope.stream).require_keys(line)
            if envelope.type == "RECORD" and envelope.time_extracted is None:
                moment = clock.now()
                line = message.with_time(line, moment)
                envelope = Envelope(envelope.type, envelope.stream, moment)
            if envelope.type == "RECORD" and not as_it_is:
                line = self._with_files(envelope.stream, line)
            self.append(envelope.stream, line + b"\n", block.of_line(envelope))
        return envelope

    def schema(self, stream: str, line: bytes) -> None:
        """Take a SCHEMA line: where it differs from the one before, a new file starts."""
        lane = self._lanes.get(stream)
        if lane is not None and lane.line == line:
            return
        schema = message.decode_schema(line)
        schema_hash = schema.hash()
        if lane is None:
            escape(stream)  # refuses a name that no path can hold, before any record is taken
            keys = StreamKeys(self._tap_id, stream)
            decoder = self._decoder(stream, schema)
            lane = self._lanes[stream] = Lane(keys, line, schema, schema_hash, decoder)
            lane.marked = blobs.marked(schema)
        elif lane.schema_hash == schema_hash:
            require_one_schema(lane.keys, schema_hash, lane.schema, schema)
            lane.line = line
            return
        else:
            self._close(lane)
            lane.line, lane.schema, lane.schema_hash = line, schema, schema_hash
            lane.decoder, lane.marked = self._decoder(stream, schema), blobs.marked(schema)
        self._delivery.announce(stream, catalogue.entry(stream, schema))

    def append(self, stream: str, lines: bytes, summary: Summary) -> None:
        """Take whole lines (each with its line feed) of one stream that `summary` describes."""
        self._delivery.refuse_after_failure()
        lane = self._lane(stream)
        file = lane.open or self._open(lane)
        file.append(lines, summary)
        self._buffered += len(lines)
        if file.buffered >= self._portion:
            self._send(file)
        elif self._buffered > BUFFERED:
            opened = (lane.open for lane in self._lanes.values() if lane.open)
            self._send(max(opened, key=lambda file: file.buffered))
        if self._is_full(file):
            self._close(lane)

    def keys_of(self, stream: str) -> tuple[str, ...] | None:
        """The properties that its records have to hold; None where `write` has to look for them."""
        return self._lane(stream).decoder.keys

    def append_records(
        self, stream: str, lines: bytes, summary: Summary | None = None
    ) -> int | None:
        """Take a block of plain RECORD lines of one stream; returns how many there were.

        None where the block is not plain: none of it was taken, and `write` takes its lines. Give
        the `summary` where the lines are known to be plain, and to hold the stream's keys.
        """
        lane = self._lane(stream)
        if lane.marked and (self.options.stage is not None or blobs.has_field(lines)):
            return None
        summary = summary or lane.decoder.summarise(lines)
        if summary is None or len(lines) > message.LONGEST:
            return None
        if summary.timed == 0:
            moment = clock.now()
            spliced = message.with_times(lines, moment)
            if spliced is None:
                return None
            lines, summary = spliced, Summary(summary.records, summary.records, moment, moment)
        elif summary.timed < summary.records:
            return None
        lines = lines if lines.endswith(b"\n") else lines + b"\n"
        held = lane.open.summary.records if lane.open else 0
        for piece in block.pieces(stream, lines, summary, held, self.options.max_file_records):
            self.append(stream, *piece)
        return summary.records

    def flush(self) -> Flush:
        """Close every open file and commit it in the background.

        A writer that failed once takes nothing more: raises what stopped it.
        """
        for lane in self._lanes.values():
            self._close(lane)
        return self._delivery.flush(self._lanes.values())

    def commit(self) -> tuple[File, ...]:
        """Commit everything that was written; returns the files, which readers now see."""
        return self.flush().result()

    def close(self) -> None:
        """Stop, leaving uncommitted lines behind; `commit` first to keep them."""
        self._delivery.close()
        self._compressor.close()
        self._folder.cleanup()

    def end(
        self,
        outcome: Outcome,
        *,
        reason: str = "",
        exit_code: int | None = None,
        bookmarks: Mapping[str, bool] | None = None,
    ) -> None:
        """Write the run's document: how it ended, and what is committed. `close` first.

        `bookmarks` says of which streams the tap's last STATE holds a bookmark.
        """
        known = self._delivery.known if self._delivery.is_registered else None
        if known is None:
            registry.register_taps(self._store, [self._tap_id])
        held = bookmarks or {}
        streams = {name: (lane.landed, held.get(name)) for name, lane in self._lanes.items()}
        ids = self._tap_id, self.run_id, self.writer_id
        run = runs.document_of(ids, self.begun, outcome, streams, reason, exit_code)
        runs.end(self._store, run, self.options.lock, known)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit at the end of a `with` that succeeded; after an error leave the rest."""
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()

    def _lane(self, stream: str) -> Lane:
        try:
            return self._lanes[stream]
        except KeyError:
            raise RecordBeforeSchema(
                f"a message of stream {stream!r} came before its SCHEMA message; "
                "a tap sends SCHEMA first"
            ) from None

    def _decoder(self, stream: str, schema: Schema) -> RecordDecoder:
        return RecordDecoder(stream, schema.key_properties if self.options.require_keys else ())

    def _with_files(self, stream: str, line: bytes) -> bytes:
        lane, stage = self._lane(stream), self.options.stage
        if not lane.marked:
            return line
        attach = None if stage is None else lambda value: self.attach(stream, stage(value))
        return attaching.with_files(line, lane.marked, attach)

    def _open(self, lane: Lane) -> OpenFile:
        self._opened_files += 1
        origin = Origin(self.writer_id, self.run_id, self._opened_files)
        spool = Spool(
            Path(self._folder.name, str(self._opened_files)),
            self.options.compression_level,
            lane.line + b"\n",
            origin,
        )
        lane.number = self.pending.begin()
        lane.open = OpenFile(lane.keys.stream, lane.schema, lane.schema_hash, spool, clock.now())
        return lane.open

    def _send(self, file: OpenFile) -> None:
        self._buffered -= file.buffered
        with self._delivery.failing_for_good():
            file.send(self._compressor)

    def _is_full(self, file: OpenFile) -> bool:
        most = self.options.max_file_records or float("inf")
        return file.has_reached(self.options.max_file_bytes) or file.summary.records >= most

    def _close(self, lane: Lane) -> None:
        """End the open file, and have it committed behind the stream's earlier ones."""
        file, lane.open = lane.open, None
        if file is None:
            return
        with self._delivery.failing_for_good():  # until it is on its way, the file is nowhere
            self._send(file)
            self._delivery.submit(lane, file)
