"""The writer: Singer lines in, committed files out, any number of streams at once.

    with lake.writer("tap-x--meltano", run_id="…") as writer:
        for line in sys.stdin.buffer:
            writer.write(line)
        writer.commit()

The caller's thread only sorts lines into buffers. Compression runs on a second thread, uploads
and commits on a few more. The commits of one stream stay in order, those of different streams
run side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from singerlake.errors import BadMessage, BadName, ConfigError, MissingKey, RecordBeforeSchema
from singerlake.format import blob as blobs
from singerlake.format import block, catalogue, message
from singerlake.format.block import RecordDecoder, Summary
from singerlake.format.catalogue import Entry
from singerlake.format.keys import LONGEST_SEGMENT, StreamKeys, escape
from singerlake.format.manifest import File
from singerlake.format.marker import Marker
from singerlake.format.message import Envelope
from singerlake.format.origin import Origin
from singerlake.format.run import Outcome, RunStream
from singerlake.format.schema import Schema
from singerlake.lake import clock, commit, markers, registry, runs, upload
from singerlake.lake.blobs import attaching
from singerlake.lake.blobs.attaching import Attached, Attaching
from singerlake.lake.blobs.staged import Blob, Staged
from singerlake.lake.collision import require_one_schema
from singerlake.lake.feed import event
from singerlake.lake.feed.event import Committed
from singerlake.lake.identity import new_writer_id
from singerlake.lake.lane import Flush, Lane
from singerlake.lake.pending import Pending, succeeded
from singerlake.lake.registration import register
from singerlake.lake.runs import landed
from singerlake.lake.scratch import spool_folder
from singerlake.lake.spool import CHUNK, PORTION, Compressor, OpenFile, Spool, Spooled
from singerlake.lake.writer_options import WriterOptions
from singerlake.store import Store

OnCommit = Callable[[Committed, Schema], None]
"""Is told of a commit, as a feed would report it, and of its schema."""

BUFFERED = 32 * 1024 * 1024
"""Raw bytes that all open files together may hold back for fuller chunks."""

CLOSED = 16
"""Closed files that may wait for their upload, at least, before the caller has to."""


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
        _require_short(run_id)
        self._store, self._tap_id, self._on_commit = store, tap_id, on_commit
        self._lanes: dict[str, Lane] = {}
        self._unregistered: dict[str, Entry] = {}
        self._registering = 0
        self.pending = Pending()
        self._registration: Future[None] | None = None
        self._known = markers.Known()
        self._commits: list[Future[tuple[File, ...]]] = []
        self._failure: BaseException | None = None
        self._buffered = 0
        # Only what the compressor has counts for the size of a file: small ones get it sooner.
        self._portion = min(PORTION, max(CHUNK, self.options.max_file_bytes))
        self._opened_files = 0
        self._folder = spool_folder(self.options.spool_folder, store.spool_folder)
        self._compressor = Compressor()
        uploads = self.options.uploads or store.writes_at_once
        self._uploads = ThreadPoolExecutor(uploads, thread_name_prefix="singerlake-upload")
        self._attaching = Attaching(
            store, self._uploads, self.writer_id, self.options.lock, self._settled
        )
        # Bounds what closed files take on the local disk while the store is slow.
        self._room = threading.BoundedSemaphore(max(CLOSED, 2 * uploads))

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose SCHEMA came."""
        return tuple(self._lanes)

    def attach(self, stream: str, staged: Staged) -> Blob:
        """Have a file of any kind stored before the next line of the stream is committed.

        Its hash is known when this returns. Raises `BadFile`.
        """
        self._refuse_after_failure()
        self._register()
        return self._attaching.attach(self._lane(stream), staged, self._registration)

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
                self._require_keys(envelope.stream, line)
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
        if not self._unregistered:
            self._registering = self.pending.begin()
        self._unregistered[stream] = catalogue.entry(stream, schema)

    def append(self, stream: str, lines: bytes, summary: Summary) -> None:
        """Take whole lines (each with its line feed) of one stream that `summary` describes."""
        self._refuse_after_failure()
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
        self._register()
        self._refuse_after_failure()
        landings, self._commits = tuple(self._commits), []
        before = (self._registration, *(lane.tail for lane in self._lanes.values()))
        earlier = [work for work in before if work is not None and work not in landings]
        return Flush(tuple(earlier), landings)

    def commit(self) -> tuple[File, ...]:
        """Commit everything that was written; returns the files, which readers see from now."""
        return self.flush().result()

    def close(self) -> None:
        """Stop, leaving uncommitted lines behind; `commit` first to keep them."""
        self._uploads.shutdown(wait=True, cancel_futures=True)
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
        registered = self._registration is not None and succeeded(self._registration)
        if not registered:
            registry.register_taps(self._store, [self._tap_id])
        held = bookmarks or {}
        streams = {name: (lane.landed, held.get(name)) for name, lane in self._lanes.items()}
        ids = self._tap_id, self.run_id, self.writer_id
        run = runs.document_of(ids, self.begun, outcome, streams, reason, exit_code)
        runs.end(self._store, run, self.options.lock, self._known if registered else None)

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

    def _require_keys(self, stream: str, line: bytes) -> None:
        missing = set(self._lane(stream).schema.key_properties) - message.record_of(line).keys()
        if missing:
            raise MissingKey(
                f"a record of stream {stream!r} has no {', '.join(sorted(missing))}: "
                "expected a value for each of its key properties"
            )

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
        with self._failing_for_good():
            file.send(self._compressor)

    @contextmanager
    def _failing_for_good(self) -> Iterator[None]:
        """What is stopped half-way, by Ctrl-C as by an error, stops the writer."""
        try:
            yield
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def _refuse_after_failure(self) -> None:
        """What failed in the background, or half-way, must not be followed by a success."""
        if self._failure is not None:
            raise self._failure

    def _settled(self, work: Future[Any]) -> None:
        """On an upload thread, as some work ends."""
        if not work.cancelled():
            self._failure = self._failure or work.exception()

    def _is_full(self, file: OpenFile) -> bool:
        most = self.options.max_file_records
        return file.has_reached(self.options.max_file_bytes) or (
            most is not None and file.summary.records >= most
        )

    def _close(self, lane: Lane) -> None:
        """End the open file, and have it committed behind the stream's earlier ones."""
        file, lane.open = lane.open, None
        if file is None:
            return
        with self._failing_for_good():  # until it is on its way, the file is nowhere
            self._send(file)
            self._register()
            self._room.acquire()
            attached, lane.attached = lane.attached, {}
            lane.tail = self._uploads.submit(
                self._land, lane, file, lane.tail, self._registration, attached
            )
            lane.tail.add_done_callback(self._settled)
            lane.tail.add_done_callback(lambda _: self._room.release())
            self._commits.append(lane.tail)
            self.pending.submit(lane.number, lane.tail)

    def _land(
        self,
        lane: Lane,
        file: OpenFile,
        before: Future[tuple[File, ...]] | None,
        registration: Future[None] | None,
        attached: Attached,
    ) -> tuple[File, ...]:
        """On an upload thread: waits only for work that was submitted, so started, earlier."""
        spooled: Spooled = file.finish()
        try:
            if registration is not None:
                registration.result()
            if before is not None:
                before.result()
            require = attaching.uploaded(lane.watch, attached)
            if lane.head is None:
                is_new = lane.keys.stream in self._known.new
                lane.head = commit.open_log(self._store, lane.keys, self.writer_id, is_new)
                opened, known = lane.head.manifest, self._known.marker(lane.keys.stream)
                end = Marker(opened.log_id, opened.last_sequence)
                markers.require_writable(self._store, lane.keys, end, known)
            lane.head, files = upload.land(
                self._store,
                lane.keys,
                lane.head,
                spooled,
                self.writer_id,
                self.run_id,
                self.options.lock,
                require,
            )
            manifest = lane.head.manifest
            lane.landed = landed.added(lane.landed, manifest.log_id, files[0])
            if self._on_commit is not None:
                self._on_commit(event.committed(lane.keys, manifest, files), spooled.schema)
            return files
        finally:
            spooled.discard()

    def _register(self) -> None:
        """Have new streams in the catalogue before any of their files is committed."""
        if self._unregistered:
            entries, self._unregistered = self._unregistered, {}
            self._registration = self._uploads.submit(
                register, self._store, self._tap_id, entries, self._registration, self._known
            )
            self._registration.add_done_callback(self._settled)
            self.pending.submit(self._registering, self._registration)


def _require_short(run_id: str) -> None:
    """A file tells its run in a header that has room for a path segment."""
    try:
        escape(run_id)
    except BadName:
        raise ConfigError(
            f"the run id {run_id[:40]!r}… is empty or too long: expected 1 to "
            f"{LONGEST_SEGMENT} characters, such as a UUID"
        ) from None
