"""BATCH messages: the records of their files, as RECORD lines, a few at a time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import IO, Any

from singer_sdk.helpers._batch import BaseBatchFileEncoding, BatchConfig, StorageTarget
from singer_sdk.singerlib.json import serialize_json

from singerlake.errors import BadMessage, ConfigError
from singerlake.format.message import LONGEST

ROWS = 1000
"""Rows of a parquet file that are held at once."""


def record_lines(line: bytes, batch_config: dict[str, Any] | None) -> Iterator[bytes]:
    """Every record of a BATCH message's files, as a RECORD line of its stream.

    A JSON-lines record is kept byte for byte. Raises `BadMessage` and `ConfigError`.
    """
    head, encoding, files = _parsed(line)
    storage = BatchConfig.from_dict(batch_config).storage if batch_config else None
    for url in files:
        folder, name = StorageTarget.split_url(url)
        try:
            with (storage or StorageTarget.from_url(folder)).open(name, mode="rb") as file:
                for record in _records(file, encoding, url):
                    yield head + record + b"}\n"
        except OSError as error:
            raise BadMessage(f"the BATCH file {url} cannot be read: {error}") from error


def _parsed(line: bytes) -> tuple[bytes, BaseBatchFileEncoding, list[str]]:
    """How the message's RECORD lines begin, its encoding, and the addresses of its files."""
    message = json.loads(line)
    try:
        envelope = {"type": "RECORD", "stream": str(message["stream"])}
        if message.get("version") is not None:
            envelope["version"] = message["version"]
        head = serialize_json(envelope).removesuffix("}") + ',"record":'
        encoding = BaseBatchFileEncoding.from_dict(dict(message["encoding"]))
        return head.encode(), encoding, [str(url) for url in message["manifest"]]
    except (KeyError, TypeError, ValueError) as error:
        raise BadMessage(
            f"a BATCH message needs `stream`, `encoding` and `manifest`: {error!r}"
        ) from error


def _records(file: IO[bytes], encoding: BaseBatchFileEncoding, url: str) -> Iterator[bytes]:
    if encoding.format == "jsonl" and encoding.compression in ("gzip", "none", None):
        yield from _json_lines(file, encoding.compression == "gzip", url)
    elif encoding.format == "parquet":
        yield from _parquet_rows(file, url)
    else:
        raise BadMessage(
            f"the BATCH file {url} has the encoding {encoding.format}, "
            f"compression {encoding.compression}; jsonl (gzip or none) and parquet are known"
        )


def _json_lines(file: IO[bytes], compressed: bool, url: str) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file) if compressed else file as lines:
            while line := lines.readline(LONGEST):  # cut, it is no JSON
                if line := line.strip():
                    yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadMessage(f"the BATCH file {url} is damaged: {error}") from error


def _parquet_rows(file: IO[bytes], url: str) -> Iterator[bytes]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ConfigError(
            'BATCH files in parquet need pyarrow: pip install "singerlake[parquet]"'
        ) from None
    try:
        for batch in parquet.ParquetFile(file).iter_batches(ROWS):
            yield from (serialize_json(row).encode() for row in batch.to_pylist())
    except ArrowException as error:
        raise BadMessage(f"the BATCH file {url} is damaged: {error}") from error
