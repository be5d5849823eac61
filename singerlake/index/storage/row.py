"""An entry as a row of numbers, and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from singerlake.format.keys import DIGITS, digits_of
from singerlake.index.entry import Entry, Upload, entry_ids, named_file_path, own_path
from singerlake.index.query import Position, stream_key
from singerlake.index.storage.origins import origin
from singerlake.index.storage.safe_text import from_safe

HOUR = 64 * 60 * 1_000_000
"""The longest entries of length 0. Those of each further length are up to four times as long."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_DIGEST_BYTES = 32

OF_HASH = 1 << 32
"""Instead of a name's digits, where these are the first ones of the hash: no number of 32 bits."""

Values = dict[str, Any]


def length_of(start: int, end: int) -> int:
    """The class of an entry's length: how often an hour has to be taken four times."""
    length, longest = 0, HOUR
    while end - start > longest:
        length, longest = length + 1, longest * 4
    return length


def longest(length: int) -> int:
    """How long an entry of a class can be."""
    return HOUR * int(4**length)


def id_key(id: str) -> int:
    """The number by which an id is looked up; several ids may have it."""
    return int.from_bytes(_sha(id)[:6], "big") >> 1


def name_key(stream: str) -> int:
    """A number for a stream's name; several names may have it."""
    return int.from_bytes(_sha(stream)[:4], "big") >> 1


def upload_sequence(id: str) -> int:
    """The number that an upload has in place of a sequence number."""
    return int.from_bytes(_sha(id)[:6], "big") >> 1


def _sha(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def values_of(entry: Entry, run: int | None, version: int | None) -> Values:
    """The columns of an entry, with the numbers of its run and its schema version."""
    return {
        "id_key": id_key(entry.id),
        "stream": stream_key(entry.tap, entry.stream, entry.upload is not None),
        "name": name_key(entry.stream),
        "run": run,
        "version": version,
        "sequence": entry.sequence,
        "ordinal": entry.ordinal,
        "first_sequence": entry.first_sequence or None,
        "starts": entry.start,
        "ends": entry.end,
        "length": length_of(entry.start, entry.end),
        "hash": pack_hash(entry.hash),
        "size": entry.size,
        "records": entry.records,
        "created": entry.create_time,
        "suffix": suffix_of(entry.path),
    }


def suffix_of(path: str) -> int | None:
    """The last eight digits of an older file name as a number; None without any; `OF_HASH` for a
    name that ends in digits of the file's hash, which the row has."""
    name, dot, _ = path.rpartition(".singer")
    digits = name.rpartition("-")[2]
    if not dot or re.fullmatch("[0-9a-f]{8}|[0-9a-f]{10}", digits) is None:
        return None
    if len(digits) == DIGITS:
        return OF_HASH
    return int.from_bytes(bytes.fromhex(digits), "big", signed=True)


def lies_as_named(entry: Entry) -> bool:
    """Whether an entry's bytes are where its row alone says: such an entry needs no holder."""
    return not entry.merged and entry.path == _named_path(
        entry.stream, entry.schema_hash, entry.start, entry.end, entry.hash, suffix_of(entry.path)
    )


def _named_path(
    stream: str, schema_hash: str, start: int, end: int, checksum: str, suffix: int | None
) -> str:
    if suffix == OF_HASH:
        digits = digits_of(checksum)
    else:
        digits = "" if suffix is None else suffix.to_bytes(4, "big", signed=True).hex()
    return own_path(stream, schema_hash, start, end, digits)


def pack_hash(text: str) -> bytes:
    """32 bytes for a SHA-256, more for any other text."""
    found = _DIGEST.fullmatch(text)
    if found is not None:
        return bytes.fromhex(found[1])
    return text.encode("utf-8", "surrogatepass").ljust(_DIGEST_BYTES + 1, b"\0")


def unpack_hash(packed: bytes) -> str:
    if len(packed) == _DIGEST_BYTES:
        return f"sha256:{packed.hex()}"
    return packed.rstrip(b"\0").decode("utf-8", "surrogatepass")


def row_position(row: Sequence[Any]) -> Position:
    """The position of a row with the columns of `sql/read.sql`; see `query.position`."""
    return row[12], row[13], row[5], row[6], row[0]


class Reader:
    """Makes entries of rows, which have the columns of `sql/read.sql`."""

    def __init__(self, lake_id: str) -> None:
        self._lake_id = lake_id

    def entry(self, row: Sequence[Any], uploads: Mapping[int, tuple[str, Upload]]) -> Entry:
        (_, tap, stream, is_upload, logs, sequence, ordinal, first_sequence) = row[:8]
        (run_id, writer_id, schema_hash, version, start, end, packed, size, records) = row[8:17]
        created, suffix, number, held = row[17:]
        tap, stream, log_id = from_safe(tap), from_safe(stream), origin(logs, sequence)
        upload, merged = None, False
        if is_upload:
            id, upload = uploads[number]
            path = upload.url
        else:
            id = entry_ids(self._lake_id, tap, stream, log_id).id(sequence, ordinal)
            if ordinal:
                path = named_file_path(unpack_hash(bytes(packed)))
            elif held is not None:
                flag, _, path = held.partition(" ")
                path, merged = from_safe(path), flag == "1"
            else:
                checksum = unpack_hash(bytes(packed))
                path = _named_path(stream, schema_hash or "", start, end, checksum, suffix)
        return Entry(
            id=id,
            tap=tap,
            stream=stream,
            log_id=log_id,
            sequence=sequence,
            ordinal=ordinal,
            first_sequence=first_sequence or 0,
            run_id=from_safe(run_id) if run_id else None,
            writer_id=from_safe(writer_id) if writer_id else None,
            schema_hash=schema_hash or "",
            version=version,
            start=start,
            end=end,
            hash=unpack_hash(bytes(packed)),
            size=size,
            records=records,
            create_time=created,
            path=path,
            merged=merged,
            upload=upload,
        )
