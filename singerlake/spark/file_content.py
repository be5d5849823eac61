"""Files of any kind in Spark: what is known of them as columns, and their bytes where selected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql import types as spark_types

from singerlake.decode.request import STANDARD_METADATA
from singerlake.errors import ConfigError, CorruptFile, InputError, MissingFile, NotFound
from singerlake.format import blob, blob_keys
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, open_on
from singerlake.lake.blobs.reference import Marks
from singerlake.spark.lend import lend
from singerlake.spark.options import absolute
from singerlake.spark.read import read_stream
from singerlake.store import Store, open_store

MAX_CONTENT_BYTES = 32 * 1024 * 1024
"""Spark hands rows to Python a hundred at a time: all of them are in memory then."""

PATH, CONTENT = "path", "content"


def read_files(
    spark: SparkSession,
    root: str | Path,
    tap: str,
    stream: str,
    *,
    property_name: str | None = None,
    max_content_bytes: int = MAX_CONTENT_BYTES,
    missing: Literal["fail", "null"] = "fail",
    metadata: bool | Sequence[str] = False,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> DataFrame:
    """The records of a stream that name files, with `path`, where each lies in the lake, and
    `content`, its bytes.

    Only the bytes of rows that a query selects `content` of are read, after its filters. A file of
    more than `max_content_bytes` is an error then: filter by `size`, or allow more. So is one that
    is not there, as after it was forgotten, unless `missing` is null. `property_name` is the
    property that names the files, where the schema marks several. `options` are those of
    `read_stream`. Raises `ConfigError` where the stream names no files.
    """
    address = absolute(str(root))
    lake = open_on(open_store(address, storage_options or {}))
    name = _marked(lake, tap, stream, property_name)
    options = {**options, "metadata": _with_files(metadata), "storage_options": storage_options}
    frame = read_stream(spark, root, tap, stream, **options)
    taken = {each.lower() for each in frame.columns} & {PATH, CONTENT}
    if taken:
        raise ConfigError(
            f"stream {stream!r} of {tap!r} has a property {sorted(taken)[0]}, and so has a read of "
            "its files: leave it out, by columns"
        )
    sealed = lend(spark, storage_options or {})
    folder = StreamKeys(tap, stream).folder
    files = frame.where(sql.col("_files").getItem(name).isNotNull())
    below = sql.col("_files").getItem(name)
    where = sql.concat(sql.lit(f"{lake.store.url}/{folder}/"), below)
    reading = _Content(address, sealed, folder, max_content_bytes, missing == "null")
    # A function without type hints: Spark would look at them for another kind of function.
    content = sql.udf(lambda path: reading(path), spark_types.BinaryType())
    found = files.withColumn(PATH, where).withColumn(CONTENT, content(below))
    is_asked_for = not isinstance(metadata, bool) and "_files" in metadata
    return found if is_asked_for else found.drop("_files")


def _with_files(asked: bool | Sequence[str]) -> list[str]:
    names = STANDARD_METADATA if asked is True else asked or ()
    return list(dict.fromkeys([*names, "_files"]))


def _marked(lake: Lake, tap: str, stream: str, wanted: str | None) -> str:
    snapshot = lake.stream(tap, stream).snapshot()
    versions = Marks().of(snapshot).values()
    names = list(dict.fromkeys(name for schema in versions for name in blob.marked(schema)))
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and len(names) == 1:
        return names[0]
    expected = ", ".join(names) or "none"
    raise ConfigError(
        f"stream {stream!r} of {tap!r}: its schema marks these properties as files: {expected}; "
        "expected one, or one of them as property_name"
    )


class _Content:
    """Reads the bytes at a path, on an executor; it is pickled without secrets."""

    def __init__(self, root: str, options: str, folder: str, most: int, lenient: bool) -> None:
        self._root, self._options, self._folder = root, options, folder
        self._most, self._lenient = most, lenient

    def __call__(self, path: str | None) -> bytes | None:
        if path is None:
            return None
        store, key = _store(self._root, self._options), f"{self._folder}/{path}"
        try:
            size = store.size(key)
            if size > self._most:
                raise InputError(
                    f"{store.url}/{key}: it has {size} bytes, and max_content_bytes allows "
                    f"{self._most}: filter by size, or allow more"
                )
            with store.open(key, size) as file:
                content = file.read()
        except NotFound:
            if self._lenient:
                return None
            raise MissingFile(
                f"{store.url}/{key}: a record names these bytes, and they are not there: they were "
                "forgotten (then set missing to null), or lost: `singerlake check` says so"
            ) from None
        if hashlib.sha256(content).hexdigest() != blob_keys.sha256_of(path):
            raise CorruptFile(f"{store.url}/{key}: its bytes are damaged; restore them")
        return content


@lru_cache(maxsize=8)
def _store(root: str, options: str) -> Store:
    return open_store(root, json.loads(options))
