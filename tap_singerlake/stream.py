"""One stream of the lake as a stream of the tap."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any

import singer_sdk.singerlib as singer
from singer_sdk import Stream, Tap
from singer_sdk.exceptions import MapExpressionError
from singer_sdk.mapper import RemoveRecordTransform, StreamMap
from singer_sdk.singerlib.json import deserialize_json

from singerlake.errors import BadMessage, ConfigError
from singerlake.format import compression, message
from singerlake.format.catalogue import Entry
from singerlake.format.manifest import File
from singerlake.format.schema import Schema
from singerlake.lake import Snapshot
from singerlake.lake import Stream as LakeSource
from singerlake.plugin.exact_json import exact_json
from tap_singerlake import content, passing, schema_line, selection
from tap_singerlake.content import Opened
from tap_singerlake.files import GivenBack
from tap_singerlake.inputs import walkable
from tap_singerlake.message_writer import WholeLines
from tap_singerlake.plan import Replay
from tap_singerlake.planned import planned
from tap_singerlake.replayed import Replayed
from tap_singerlake.settings import Window


class LakeStream(Stream):
    """Replays files in commit order; STATE follows each of them.

    Where nothing has to change, whole blocks pass through as they are stored, and single lines
    where the window cuts a file. With properties deselected, or maps, each record is built.
    """

    def __init__(
        self, tap: Tap, output: WholeLines, source: LakeSource, entry: Entry, window: Window
    ) -> None:
        super().__init__(tap, name=source.name)
        self._schema = walkable(entry["schema"])
        self.primary_keys = entry.get("key_properties") or []
        self.forced_replication_method = "INCREMENTAL"
        self._output, self._source, self.entry, self._window = output, source, entry, window
        self._files = GivenBack(source, window.back, self.logger)
        self.replayed = Replayed()
        self._plan: tuple[Replay, Iterator[Opened]] | None = None
        self._merged = b""
        self._emitted, self._built = "", 0

    def snapshot(self) -> Snapshot:
        """The lake's stream as it is now."""
        return self._source.snapshot()

    def get_records(self, context: Any) -> Generator[dict[str, Any], None, None]:
        """The stream's records: what the SDK asks of every stream."""
        yield from self._sync_records(context, write_messages=False)

    def _write_schema_message(self) -> None:
        """The SCHEMA of the first file that will be replayed, or the catalog's if there is none."""
        replay, opened = self._planned()
        for file, blocks in opened:
            head = next(blocks)
            self._begin_version(file, head.partition(b"\n")[0])
            self._plan = (replay, chain([(file, chain([head], blocks))], opened))
            return
        self._write_version(self._merged or schema_line.newest(self.name, self.entry))

    def _sync_records(
        self, context: Any = None, *, write_messages: bool = True
    ) -> Generator[dict[str, Any], None, None]:
        replay, opened = self._planned()
        self._plan, self._built = None, 0
        with self.get_record_counter() as counter, self.get_sync_timer():
            for file, blocks in opened:
                back = self._files.concerns(replay.snapshot, file.schema_hash)
                counted = 0
                if write_messages and not back and self._passes_whole(file):
                    counter.increment(counted := self._pass_through(file, blocks))
                else:
                    for record in self._build(file, blocks, write_messages, back):
                        counter.increment()
                        counted += 1
                        yield record
                self.replayed = self.replayed.with_file(replay.snapshot.log_id, file, counted)
                if not replay.snapshot.by_listing:
                    self.stream_state.update(replay.state(file))
                    self.state_manager.is_flushed = False
                if write_messages:
                    self._write_state_message()
        self._finalize_state(self.stream_state)
        if write_messages:
            self._write_state_message()

    def _planned(self) -> tuple[Replay, Iterator[Opened]]:
        """What to replay, and its files."""
        if self._plan is None:
            state = self.stream_state if self.replication_method == "INCREMENTAL" else None
            made = planned(self._source, self.entry, self._window, state, self.logger)
            self._merged, self._plan = made.merged, (made.replay, made.opened)
        return self._plan

    def _unchanged(self) -> bool:
        """Whether every record that is asked for comes out as it is stored."""
        unmapped = not self.config.get("stream_maps") and not self.config.get("flattening_enabled")
        return unmapped and all(self.mask.values())

    def _passes_whole(self, file: File) -> bool:
        """Whether nothing of this file has to change on its way."""
        within = self._window.holds(file.first) and self._window.holds(file.last)
        return self._unchanged() and within and self.ABORT_AT_RECORD_COUNT is None

    def _pass_through(self, file: File, blocks: Iterator[bytes]) -> int:
        """The file as it is stored, less blank lines and a SCHEMA line that was emitted already.

        Returns how many records there were.
        """
        line, _, rest = next(blocks).partition(b"\n")
        self._begin_version(file, line)
        counted = passing.pass_through(file, chain([rest], blocks), self._output)
        self.state_manager.is_flushed = False
        return counted

    def _build(
        self, file: File, blocks: Iterator[bytes], write_messages: bool, back: bool
    ) -> Generator[dict[str, Any], None, None]:
        """Each record that is asked for, less what is deselected; maps hold for what is written.

        Raises `BadMessage`, which names the file.
        """
        try:
            yield from self._build_each(file, blocks, write_messages, back)
        except BadMessage as error:
            raise BadMessage(f"{file.path} of stream {self.name!r}: {error}") from error
        self.state_manager.is_flushed = False

    def _build_each(
        self, file: File, blocks: Iterator[bytes], write_messages: bool, back: bool
    ) -> Generator[dict[str, Any], None, None]:
        lines = compression.lines(blocks)
        head = next(lines)
        if write_messages:
            self._begin_version(file, head)
        schema = message.decode_schema(head)
        unchanged, mask = self._unchanged(), self._mask_of(schema)
        in_arrays = selection.in_arrays(mask)
        for line in lines:
            envelope = message.decode(line)
            if envelope.type == "ACTIVATE_VERSION":
                if write_messages:
                    self._write_activation(line)
            elif self._window.holds(envelope.time_extracted):
                self._check_max_record_limit(current_record_index=self._built)
                self._built += 1
                try:
                    stored = content.parsed(line)
                    if back:
                        self._files.put_back(line, stored, schema)
                        line = exact_json(stored).encode()
                    if not unchanged:
                        selection.take_out(stored["record"], mask, in_arrays)
                    if write_messages and unchanged:
                        self._output.write_blocks([line])
                    elif write_messages:
                        self._write_stored(stored, envelope)
                except RecursionError:
                    raise BadMessage(
                        "a record is nested too deeply for the SDK to select from it or to map it"
                    ) from None
                yield stored["record"]

    def _write_stored(self, stored: dict[str, Any], envelope: message.Envelope) -> None:
        """A RECORD with the time and version that it was stored with."""
        for stream_map in self.stream_maps:
            mapped = _mapped(stream_map, stored["record"])
            if mapped is not None:
                self._tap.write_message(
                    singer.RecordMessage(
                        stream=stream_map.stream_alias,
                        record=mapped,
                        version=stored.get("version"),
                        time_extracted=envelope.time_extracted,
                    )
                )

    def _write_activation(self, line: bytes) -> None:
        """An ACTIVATE_VERSION as it was stored, under each name that the maps give the stream."""
        for stream_map in self.stream_maps:
            if isinstance(stream_map, RemoveRecordTransform):
                continue
            if stream_map.stream_alias == self.name:
                self._output.write_blocks([line])
            else:
                renamed = deserialize_json(line) | {"stream": stream_map.stream_alias}
                self._output.write_blocks([exact_json(renamed).encode()])

    def _mask_of(self, schema: Schema) -> singer.SelectionMask:
        """What is selected of a version: its own keys always, though the newest has others."""
        keys = {("properties", key): True for key in schema.key_properties}
        return singer.SelectionMask(self.mask | keys)

    def _begin_version(self, file: File, line: bytes) -> None:
        """Emit the SCHEMA where it is another than before: as stored, or selected and mapped.

        The file's own, or that of all versions: a catalog may be older than the file, and knows
        fewer keywords.
        """
        version = "merged" if self._merged else file.schema_hash
        if version != self._emitted:
            self._emitted = version
            self._write_version(self._merged or line)

    def _write_version(self, line: bytes) -> None:
        if self._unchanged():
            self._output.write_blocks([line])
            return
        schema = message.decode_schema(line)
        mask = self._mask_of(schema)
        selected = selection.selected_schema(self.name, walkable(schema.schema), mask)
        keys = list(schema.key_properties)
        self._tap.mapper.register_raw_stream_schema(self.name, selected, keys)
        self._stream_maps = None
        super()._write_schema_message()


def _mapped(stream_map: StreamMap, record: dict[str, Any]) -> dict[str, Any] | None:
    """The record as the map makes it, None where it leaves it out. Raises `ConfigError`."""
    try:
        return stream_map.transform(record)
    except (MapExpressionError, RecursionError):
        raise
    except Exception as error:
        # As where a map divides by a record's zero. Its message may quote the record.
        raise ConfigError(
            f"stream {stream_map.stream_alias!r}: the settings that change records, such as "
            f"stream_maps, do not suit a record ({type(error).__name__})"
        ) from None
