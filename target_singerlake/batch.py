"""BATCH messages: the records of their files, as RECORD lines, a few at a time."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, Any

import fsspec
from singer_sdk.helpers._batch import BaseBatchFileEncoding, BatchConfig

from singerlake.errors import BadMessage, ConfigError
from singerlake.format.message import LONGEST, require_object
from target_singerlake.messages import parsed, serialized

ROWS = 1000
"""Records between two pauses, and rows of a parquet file that are held at once."""

READ = 1024 * 1024
"""Bytes of a parquet column that are read at once."""

# What stands before the host, and the query: a signed URL has its signature there.
_CREDENTIALS = re.compile(r"""(?<=://)[^/@\s'"]*@|\?[^\s'"]+""")


def parameters(batch_config: dict[str, Any] | None) -> dict[str, Any]:
    """How to open the files: the fsspec options in the SDK's setting. Raises `ConfigError`.

    The rest of the setting is for taps: a message names its files, and their encoding.
    """
    if not batch_config:
        return {}
    try:
        return dict(BatchConfig.from_dict(batch_config).storage.params)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(
            "batch_config is not as the SDK has it, with `encoding` (`format`, `compression`) and "
            f"`storage` (`root`, `prefix`, `params`): {error}"
        ) from None


def record_lines(
    line: bytes, parameters: dict[str, Any], pause: Callable[[], None]
) -> Iterator[bytes]:
    """Every record of a BATCH message's files, as a RECORD line of its stream.

    A JSON-lines record is kept byte for byte. Calls `pause` now and then, which may raise to
    leave the rest. Raises `BadMessage`.
    """
    head, encoding, urls = _parsed(line)
    files = (_file_records(url, encoding, parameters) for url in urls)
    for number, record in enumerate(chain.from_iterable(files)):
        if number % ROWS == 0:
            pause()
        yield head + record + b"}\n"


def _parsed(line: bytes) -> tuple[bytes, BaseBatchFileEncoding, list[str]]:
    """How the message's RECORD lines begin, its encoding, and the addresses of its files."""
    message = parsed(line)
    try:
        envelope = {"type": "RECORD", "stream": str(message["stream"])}
        if message.get("version") is not None:
            envelope["version"] = message["version"]
        encoding = BaseBatchFileEncoding.from_dict(dict(message["encoding"]))
        urls = message["manifest"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadMessage(
            f"a BATCH message needs `stream`, `encoding` and `manifest`: {error!r}"
        ) from error
    if not isinstance(urls, list) or not all(isinstance(url, str) and url for url in urls):
        raise BadMessage("the `manifest` of a BATCH message is not a list of URLs")
    if encoding.format != "parquet" and (
        encoding.format != "jsonl" or encoding.compression not in ("gzip", "none", None)
    ):
        raise BadMessage(
            f"the BATCH message has the encoding {encoding.format}, compression "
            f"{encoding.compression}; jsonl (gzip or none) and parquet are known"
        )
    return serialized(envelope).removesuffix(b"}") + b',"record":', encoding, urls


def _file_records(
    url: str, encoding: BaseBatchFileEncoding, parameters: dict[str, Any]
) -> Iterator[bytes]:
    try:
        with fsspec.open(url, "rb", **parameters) as file:
            if encoding.format == "parquet":
                yield from _parquet_rows(file)
            else:
                yield from _json_lines(file, encoding.compression == "gzip")
    except Exception as error:
        # Each file system has errors of its own, for a host that is not there as for a package.
        told = f"the BATCH file {url} cannot be read ({type(error).__name__}): {error}"
        raise BadMessage(_CREDENTIALS.sub("", told)) from error


def _json_lines(file: IO[bytes], compressed: bool) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) if compressed else file as lines:
        while line := lines.readline(LONGEST):  # cut, it is no JSON
            if line := line.strip():
                require_object(line)  # what follows it would become part of the message
                yield line


def _parquet_rows(file: IO[bytes]) -> Iterator[bytes]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError('parquet needs pyarrow: pip install "singerlake[parquet]"') from None
    # Otherwise it reads ahead by whole columns: a file of one row group, all of it.
    reader = parquet.ParquetFile(file, pre_buffer=False, buffer_size=READ)
    for batch in reader.iter_batches(ROWS):
        yield from _as_json(batch)


def _as_json(batch: Any) -> list[bytes]:
    try:
        return [serialized(row) for row in batch.to_pylist()]
    except Exception as error:
        # Its message may quote the value.
        raise ValueError(f"a value that JSON cannot hold ({type(error).__name__})") from None
