"""S3, and every server that speaks its language, as a store."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, BinaryIO

from singerlake.errors import AlreadyExists, BadLocation, BadName, Changed, NotFound, Unsupported
from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload, in_hand
from singerlake.store.keys import check_key, check_prefix, is_hidden
from singerlake.store.probe import PROBE_PREFIX, Support, probe, warn_weak
from singerlake.store.s3_errors import NotModified, OutOfRange, UploadGone
from singerlake.store.s3_requests import ONE_PUT, S3Requests
from singerlake.store.stream import reader

logger = logging.getLogger("singerlake.store")


class S3Store(Store):
    """Objects below `s3://bucket/prefix`; `storage_options` are those of s3fs.

    Every call sends one request, but for large files, listings of over a thousand keys, and
    the probe before an instance's first write (see `promise`). Nothing is retried here: wrap
    it in `Retrying`. Versions are ETags.
    """

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None) -> None:
        bucket, root = _split(url)
        self._url = f"s3://{bucket}/{root}".rstrip("/")
        self._requests = S3Requests(bucket, root, storage_options or {})
        self._support: Support | None = None
        self._probing = threading.Lock()

    @property
    def url(self) -> str:
        return self._url

    def promise(self) -> Promise:
        """Found by trying, once for each instance: six small requests.

        A server that ignores only the condition of a DELETE still counts as conditional:
        `delete_if` then looks before it deletes. The lake deletes so its own lock, which is a
        courtesy, and what it purges: docs/spec.md#weak-stores says what that leaves open.
        """
        support = self._supported()
        return Promise.CONDITIONAL if support.create and support.replace else Promise.BEST_EFFORT

    def _supported(self) -> Support:
        with self._probing:
            if self._support is None:
                self._support = probe(self._requests)
                if not (self._support.create and self._support.replace):
                    warn_weak(self._url)
            return self._support

    def oddities(self) -> list[str]:
        if not self._requests.weak_versions:
            return []
        return [
            'answers have weak ETags (W/"…"): a proxy changes bodies on their way, by compression '
            "mostly. Commits work all the same, for the strong part is compared; better have the "
            "proxy pass the store's answers on as they are"
        ]

    def read(self, key: str) -> Stored:
        return self._requests.get(check_key(key))

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        try:
            stored = self._requests.get(check_key(key), unless_version=validator)
        except NotModified:
            return None
        # A server that ignores the condition sends the object again.
        return None if stored.version == validator else (stored, stored.version)

    def version(self, key: str) -> str:
        return self._requests.version_of(self._requests.head(check_key(key)))

    def size(self, key: str) -> int:
        return int(self._requests.head(check_key(key))["ContentLength"])

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return reader(_ObjectSource(self._requests, check_key(key), size))

    def create(self, key: str, data: Data) -> str:
        held = in_hand(data)
        if isinstance(held, bytes):
            return self._create(key, io.BytesIO(held), len(held))
        with held.open("rb") as file:
            return self._create(key, file, held.stat().st_size)

    def create_from(self, key: str, upload: Upload) -> str:
        with upload.open() as source:
            return self._create(key, source, upload.size)

    def _create(self, key: str, source: BinaryIO, size: int) -> str:
        check_key(key)
        refused = AlreadyExists(f"{self._url}/{key} exists already")
        conditional = self._supported().create
        if not conditional and self._find(key) is not None:
            raise refused
        try:
            if size > ONE_PUT:
                return self._requests.upload(key, source, size, if_absent=conditional)
            return self._requests.put(key, source.read(), if_absent=conditional)
        except Changed:
            raise refused from None

    def replace(self, key: str, data: bytes, version: str) -> str:
        check_key(key)
        if not self._supported().replace:
            self._require(key, version)
            return self._requests.put(key, data)
        try:
            return self._requests.put(key, data, if_version=version)
        except (Changed, NotFound):  # some servers say 404 where the object is gone
            raise self._changed(key, version) from None

    def delete(self, key: str) -> None:
        self._requests.remove(check_key(key))

    def delete_if(self, key: str, version: str) -> None:
        check_key(key)
        if not self._supported().delete:
            self._require(key, version)
            return self._requests.remove(key)
        try:
            self._requests.remove(key, if_version=version)
        except (Changed, NotFound):
            raise self._changed(key, version) from None

    def folders(self, prefix: str) -> list[str]:
        start = check_prefix(prefix)
        names = {
            self._requests.relative(row["Prefix"])[len(start) : -1]
            for page in self._requests.pages("list_objects_v2", start, Delimiter="/")
            for row in page.get("CommonPrefixes", [])
        }
        return sorted(name for name in names if name and not is_hidden(name))

    def list(self, prefix: str) -> Iterator[Listed]:
        rows = [row for row in self._rows(check_prefix(prefix)) if not is_hidden(row.key)]
        # Not every server lists in the order of the keys.
        yield from sorted(rows, key=lambda row: row.key)

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        start = check_prefix(folder)
        listed = self._rows(start, Delimiter="/", StartAfter=self._requests.absolute(start + after))
        # Some servers pass over where to begin.
        rows = [row for row in listed if row.key > start + after and not is_hidden(row.key)]
        yield from sorted(rows, key=lambda row: row.key)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        limit = datetime.now(timezone.utc) - older_than
        probes = [row.key for row in self._rows(PROBE_PREFIX) if row.modified < limit]
        for key in probes:
            self._requests.remove(key)
        uploads = self._unfinished(check_prefix(folder), limit)
        for key, upload in uploads:
            with contextlib.suppress(UploadGone):  # it was finished meanwhile
                self._requests.abort(key, upload)
        return len(probes) + len(uploads)

    def _unfinished(self, prefix: str, limit: datetime) -> Sequence[tuple[str, str]]:
        """Uploads in parts that began before: key and id. None where a server lists none."""
        try:
            return [
                (row["Key"], row["UploadId"])
                for page in self._requests.pages("list_multipart_uploads", prefix)
                for row in page.get("Uploads", [])
                if row["Initiated"] < limit
            ]
        except (UploadGone, Unsupported) as error:
            logger.info("%s lists no unfinished uploads: %s", self._url, error)
            return []

    def _rows(self, prefix: str, **arguments: str) -> Iterator[Listed]:
        for page in self._requests.pages("list_objects_v2", prefix, **arguments):
            for row in page.get("Contents", []):
                if not row["Key"].endswith("/"):  # a console's marker of an empty folder
                    key = self._requests.relative(row["Key"])
                    version = self._requests.version_of(row)
                    yield Listed(key, row["Size"], row["LastModified"], version)

    def _find(self, key: str) -> str | None:
        try:
            return self.version(key)
        except NotFound:
            return None

    def _require(self, key: str, version: str) -> None:
        if self._find(key) != version:
            raise self._changed(key, version)

    def _changed(self, key: str, version: str) -> Changed:
        return Changed(f"{self._url}/{key} is gone, or is not version {version} any more")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_probing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _probing=threading.Lock())


class _ObjectSource:
    """Ranges of one object; the first answer tells the size, so that no HEAD is needed."""

    def __init__(self, requests: S3Requests, key: str, size: int | None) -> None:
        self._requests = requests
        self._key = key
        self._size = size
        self._version: str | None = None

    def fetch(self, offset: int, length: int) -> bytes:
        if length == 0 or (self._size is not None and offset >= self._size):
            return b""
        try:
            # From the second on, only of the object that the first was a part of.
            answer = self._requests.get_range(self._key, offset, length, self._version)
        except OutOfRange:
            return b""
        self._version = self._requests.version_of(answer)
        data: bytes = answer["Body"]
        if "ContentRange" not in answer:  # the server sent the whole, as it may
            self._size = len(data)
            return data[offset : offset + length]
        self._size = int(answer["ContentRange"].rpartition("/")[2])
        return data

    def size(self) -> int:
        if self._size is None:
            self._size = int(self._requests.head(self._key)["ContentLength"])
        return self._size

    def close(self) -> None:
        pass


def _split(url: str) -> tuple[str, str]:
    """The bucket and the root's key in it."""
    bucket, _, root = url.partition("://")[2].rstrip("/").partition("/")
    # The only buckets with a colon are access points; any other begins a password.
    if not bucket or "@" in bucket or (":" in bucket and not bucket.startswith("arn:")):
        raise BadLocation(  # which does not show what may be a secret
            "the lake's address does not name a bucket: expected s3://<bucket>/<path>, with no "
            "user and password; credentials belong in storage_options"
        )
    try:
        return bucket, check_key(root) if root else ""
    except BadName as error:
        raise BadLocation(f"{url} cannot be a lake's address: {error}") from None
