"""What a tap would send: the same messages in every run, in files that are read through a pipe."""

from __future__ import annotations

import functools
import itertools
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

SCALE = float(os.environ.get("BENCHMARK_SCALE", "1"))
"""Less than 1 for a quick look: so much of the records."""

STATE_EVERY = 10_000
BEGIN = datetime(2026, 11, 1, tzinfo=timezone.utc)

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Kind:
    """Records of about `size` bytes with their envelope; `few` of them for slow peers."""

    name: str
    size: int
    records: int
    few: int
    make: Callable[[random.Random, int], Record]
    properties: dict[str, Any]
    streams: int = 1


@dataclass(frozen=True)
class Messages:
    """A file of messages."""

    path: Path
    records: int
    bytes: int


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Everything that the benchmarks of the plugins leave on disk; gone when they end."""
    return tempfile.TemporaryDirectory(prefix="singerlake-bench-")


@contextmanager
def new_folder() -> Iterator[Path]:
    """An empty one, which is thrown away."""
    with tempfile.TemporaryDirectory(dir=folder().name) as name:
        yield Path(name)


@functools.cache
def messages(kind: Kind, records: int) -> Messages:
    path = Path(folder().name, f"{kind.name.replace(' ', '-')}-{records}.singer")
    with path.open("wb") as file:
        for part in _parts(kind, records):
            file.write(part)
    return Messages(path, records, path.stat().st_size)


@functools.cache
def empty() -> Path:
    path = Path(folder().name, "empty")
    path.touch()
    return path


def schema_only(kind: Kind) -> Path:
    path = Path(folder().name, f"{kind.name.replace(' ', '-')}-schema.singer")
    path.write_bytes(b"".join(schemas(kind)))
    return path


def _parts(kind: Kind, records: int) -> Iterator[bytes]:
    rng = random.Random(kind.name)
    turns = names(kind)
    yield from schemas(kind)
    for number in range(records):
        message = {
            "type": "RECORD",
            "stream": turns[number % len(turns)],
            "record": kind.make(rng, number),
            "time_extracted": _time(number),
        }
        yield msgspec.json.encode(message) + b"\n"
        if (number + 1) % STATE_EVERY == 0:
            state = {"bookmarks": {turns[0]: {"replication_key_value": number}}}
            yield msgspec.json.encode({"type": "STATE", "value": state}) + b"\n"


def records_of(kind: Kind, name: str) -> Iterator[bytes]:
    """RECORD messages of one stream, as many as are asked for."""
    rng = random.Random(f"{kind.name} {name}")
    for number in itertools.count():
        record = kind.make(rng, number)
        message = {"type": "RECORD", "stream": name, "record": record}
        yield msgspec.json.encode(message | {"time_extracted": _time(number)}) + b"\n"


def schemas(kind: Kind) -> Iterator[bytes]:
    for name in names(kind):
        schema = {"type": "object", "properties": kind.properties}
        message = {"type": "SCHEMA", "stream": name, "schema": schema, "key_properties": ["id"]}
        yield msgspec.json.encode(message) + b"\n"


def names(kind: Kind) -> list[str]:
    if kind.streams == 1:
        return ["orders"]
    return [f"orders_{number:03}" for number in range(kind.streams)]


def _time(number: int) -> str:
    return (BEGIN + timedelta(microseconds=1370 * number + 1)).isoformat()


def _vocabulary() -> list[str]:
    rng = random.Random("words")
    letters = "aaabcddeeeeefghiiiklmnnnooopprrrssstttuuvwyz"
    return ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(3000)]


_WORDS = _vocabulary()
_STATUS = ("new", "paid", "packed", "sent", "returned")


@functools.cache
def _text() -> str:
    """Far more than a compressor looks back on; some words are frequent, as in any language."""
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(_WORDS))))
    return " ".join(random.Random("text").choices(_WORDS, cum_weights=weights, k=500_000))


def _words(rng: random.Random, length: int) -> str:
    begin = rng.randrange(len(_text()) - length)
    return _text()[begin : begin + length]


def _small(rng: random.Random, number: int) -> Record:
    word = rng.choice(_WORDS)
    return {
        "id": number,
        "customer_id": rng.randrange(50_000),
        "email": f"{word}.{rng.randrange(1000)}@example.com",
        "status": rng.choice(_STATUS),
        "amount": rng.randrange(100, 100_000) / 100,
        "updated_at": _time(number * 60),
        "note": _words(rng, 43),
    }


def _wide(rng: random.Random, number: int) -> Record:
    return {
        **_small(rng, number),
        "is_gift": rng.random() < 0.1,
        "comment": None,
        "reference": f"{rng.getrandbits(128):032x}",
        "address": {
            "street": f"{_words(rng, 12)} {rng.randrange(200)}",
            "city": rng.choice(_WORDS),
            "postcode": f"{rng.randrange(100_000):05}",
            "location": {"lat": rng.uniform(-90, 90), "lon": rng.uniform(-180, 180)},
        },
        "items": [
            {
                "sku": f"{rng.getrandbits(32):08x}",
                "title": _words(rng, 28),
                "quantity": rng.randrange(1, 9),
                "price": rng.randrange(100, 10_000) / 100,
            }
            for _ in range(6)
        ],
        "tags": [rng.choice(_WORDS) for _ in range(5)],
        "description": _words(rng, 890),
    }


_TEXT, _NUMBER, _INTEGER = {"type": ["string", "null"]}, {"type": "number"}, {"type": "integer"}
_SMALL_PROPERTIES: dict[str, Any] = {
    "id": _INTEGER,
    "customer_id": _INTEGER,
    "email": _TEXT,
    "status": _TEXT,
    "amount": _NUMBER,
    "updated_at": {"type": "string", "format": "date-time"},
    "note": _TEXT,
}
_WIDE_PROPERTIES: dict[str, Any] = {
    **_SMALL_PROPERTIES,
    "is_gift": {"type": "boolean"},
    "comment": _TEXT,
    "reference": _TEXT,
    "address": {
        "type": "object",
        "properties": {
            "street": _TEXT,
            "city": _TEXT,
            "postcode": _TEXT,
            "location": {"type": "object", "properties": {"lat": _NUMBER, "lon": _NUMBER}},
        },
    },
    "items": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "sku": _TEXT,
                "title": _TEXT,
                "quantity": _INTEGER,
                "price": _NUMBER,
            },
        },
    },
    "tags": {"type": "array", "items": {"type": "string"}},
    "description": _TEXT,
}


def _scaled(records: int) -> int:
    return max(int(records * SCALE), 1000)


SMALL = Kind("small records", 290, _scaled(1_000_000), _scaled(100_000), _small, _SMALL_PROPERTIES)
WIDE = Kind("wide records", 2000, _scaled(200_000), _scaled(20_000), _wide, _WIDE_PROPERTIES)
MANY = Kind("many streams", 290, _scaled(1_000_000), 0, _small, _SMALL_PROPERTIES, streams=500)
