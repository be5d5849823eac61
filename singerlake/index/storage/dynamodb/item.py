"""An entry as items of DynamoDB, and back.

One item for each day that a file touches, under `<day>:<what>` and `<where>:<id>`; what is the
stream, where the tap. Datalake's own API reads these. The text in `singerlake` has what its records
cannot hold: microseconds, the log and the writer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from singerlake.index.entry import Entry, Upload
from singerlake.index.storage.row import upload_sequence
from singerlake.index.storage.safe_text import from_safe, to_safe
from singerlake.index.summary import DAY

Item = dict[str, Any]

HASH, RANGE = "time_index_key", "range_key"
RUN_INDEX, RUN_HASH = "work-id-index", "work_id_index_key"
LATEST_HASH = "what_where_key"

LONGEST = 30
"""Days. Datalake refuses what touches more; such a file has an item for its first day, and one in
the partition of long files, which nobody else reads."""

OWN = "singerlake:"
"""No day: what begins like this is ours alone."""


def day_of(microseconds: int) -> int:
    return microseconds // DAY


def is_long(entry: Entry) -> bool:
    return day_of(entry.end) - day_of(entry.start) >= LONGEST


def day_partition(day: int, stream: str) -> str:
    return f"{day}:{to_safe(stream)}"


def long_partition(stream: str) -> str:
    return f"{OWN}long:{to_safe(stream)}"


def log_partition(key: int) -> str:
    return f"{OWN}log:{key}"


def id_partition(id: str) -> str:
    return f"{OWN}id:{to_safe(id)}"


def log_range(sequence: int, ordinal: int = 0) -> str:
    """Texts that sort as the numbers do."""
    return f"{sequence:020d}:{ordinal:020d}"


def run_partition(run_id: str, stream: str) -> str:
    return f"{to_safe(run_id)}:{to_safe(stream)}"


def items_of(entry: Entry, root: str, key: int) -> Iterator[Item]:
    """All items of an entry, the one in its log last: where there is that one, all are there."""
    record = record_of(entry, root)
    days = range(day_of(entry.start), day_of(entry.end) + 1)
    for day in days[:1] if is_long(entry) else days:
        yield {**record, HASH: day_partition(day, entry.stream)}
    # The index of runs has an item for each day too, as datalake's has.
    own = {name: record[name] for name in (RANGE, "singerlake")}
    if is_long(entry):
        yield {**own, HASH: long_partition(entry.stream)}
    yield {**own, HASH: id_partition(entry.id), RANGE: "-"}
    yield {**own, HASH: log_partition(key), RANGE: log_range(entry.sequence, entry.ordinal)}


def record_of(entry: Entry, root: str) -> Item:
    """The record as datalake has it."""
    what, where, id = to_safe(entry.stream), to_safe(entry.tap), to_safe(entry.id)
    work_id = to_safe(entry.run_id) if entry.run_id else None
    url = entry.key if entry.upload is not None else f"{root}/{entry.key}"
    metadata: Mapping[str, Any] = {
        "version": 0,
        "id": id,
        "what": what,
        "where": where,
        "work_id": work_id,
        "start": entry.start // 1000,
        "end": entry.end // 1000,
        "hash": entry.hash,
        "path": entry.path,
    }
    if entry.upload is not None:
        metadata = {"start": entry.start // 1000, **entry.upload.metadata}
    return {
        "version": 0,
        "url": to_safe(url),
        RUN_HASH: f"{work_id or f'null{id}'}:{what}",
        RANGE: f"{where}:{id}",
        "create_time": entry.create_time // 1000,
        "size": entry.size,
        "metadata": _storable(metadata),
        "singerlake": json.dumps(msgspec.to_builtins(entry)),
    }


def _storable(value: Any) -> Any:
    """Without floats, which DynamoDB's client refuses, and lone surrogates."""
    if isinstance(value, Mapping):
        return {to_safe(str(name)): _storable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(one) for one in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    return to_safe(value) if isinstance(value, str) else value


def entry_of(item: Mapping[str, Any]) -> Entry:
    """The entry of an item: of ours, or of a record that datalake itself put there."""
    if "singerlake" in item:
        return msgspec.convert(json.loads(item["singerlake"]), Entry)
    metadata = {name: _plain(value) for name, value in item["metadata"].items()}
    start, end = int(metadata["start"]), metadata.get("end")
    id, url = from_safe(str(metadata["id"])), str(item["url"])
    return Entry(
        id=id,
        tap=from_safe(str(metadata["where"])),
        stream=from_safe(str(metadata["what"])),
        log_id="",
        sequence=upload_sequence(id),
        run_id=metadata.get("work_id"),
        start=start * 1000,
        end=(start if end is None else int(end)) * 1000,
        hash=str(metadata.get("hash") or ""),
        size=int(item.get("size") or 0),
        create_time=int(item.get("create_time") or 0) * 1000,
        path=url,
        upload=Upload(url=url, metadata=metadata),
    )


def _plain(value: Any) -> Any:
    """Numbers come as decimals."""
    return int(value) if hasattr(value, "as_tuple") and value == int(value) else value
