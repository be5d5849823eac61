"""Requests to one bucket, each sent once: conditions are passed on, errors explained.

s3fs keeps the session, the credentials and the options that users know; its own file methods
are not used, because they drop conditions, need a HEAD before a GET, and cache listings.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import botocore  # type: ignore[import-untyped, unused-ignore]
from aiobotocore.httpsession import (  # type: ignore[import-untyped, unused-ignore]
    AIOHTTPSession,
)
from fsspec.asyn import sync
from s3fs import S3FileSystem

from singerlake.errors import SingerlakeError, StoreError
from singerlake.store.base import Stored, require_document
from singerlake.store.per_process import PerProcess
from singerlake.store.s3_errors import explained
from singerlake.store.sealed import seal, unseal
from singerlake.store.secrets import silence_debug

ONE_PUT = 32 << 20  # a larger file goes in parts
# The last resort: botocore's time-outs do not run while a server holds back its 100 Continue.
_PATIENCE = 300.0  # seconds for a request, and more for a large body at
_SLOWEST = 256 << 10  # bytes a second
# Their debug log holds the headers of requests, and so the session's token.
_TELL_SECRETS = ("aiobotocore", "botocore")
_MOST_PARTS = 10_000  # S3's limit, as is that all parts but the last have 5 MiB or more


class S3Requests:
    """The requests that a store needs, for keys below `root` in a bucket."""

    def __init__(self, bucket: str, root: str, options: Mapping[str, Any]) -> None:
        self._bucket = bucket
        self._root = f"{root}/" if root else ""
        self._options = seal(options)
        self._session = PerProcess(partial(_connect, self._options))
        self.weak_versions = 0

    def get(self, key: str, *, unless_version: str = "") -> Stored:
        """Raises `NotModified` where the object is `unless_version`: no body is sent then."""
        condition: dict[str, Any] = {"IfNoneMatch": unless_version} if unless_version else {}
        answer = self._object("get_object", key, **condition)
        return Stored(answer["Body"], self.version_of(answer))

    def get_range(self, key: str, offset: int, length: int, if_version: str | None) -> Any:
        """The whole answer, whose headers tell the object's size, and version: `version_of`."""
        condition = _condition(if_version=if_version)
        span = f"bytes={offset}-{offset + length - 1}"
        return self._object("get_object", key, Range=span, **condition)

    def head(self, key: str) -> Any:
        return self._object("head_object", key)

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> str:
        condition = _condition(if_absent, if_version)
        answer = self._object("put_object", key, write=True, Body=data, **condition)
        return self.version_of(answer)

    def upload(self, key: str, file: BinaryIO, size: int, *, if_absent: bool = False) -> str:
        """Write a large file in parts, with one of them in memory at a time."""
        part_size = max(ONE_PUT, math.ceil(size / _MOST_PARTS))
        upload = self._object("create_multipart_upload", key)["UploadId"]
        try:
            parts: list[dict[str, Any]] = []
            while data := file.read(part_size):
                number = len(parts) + 1
                answer = self._object(
                    "upload_part", key, UploadId=upload, PartNumber=number, Body=data
                )
                parts.append({"PartNumber": number, "ETag": answer["ETag"]})
            answer = self._object(
                "complete_multipart_upload",
                key,
                write=True,
                UploadId=upload,
                MultipartUpload={"Parts": parts},
                **_condition(if_absent),
            )
        except BaseException:
            # Parts cost money until they are aborted; `sweep` finds what we cannot abort now.
            with contextlib.suppress(SingerlakeError):
                self.abort(self._root + key, upload)
            raise
        return self.version_of(answer)

    def remove(self, key: str, *, if_version: str | None = None) -> None:
        self._object("delete_object", key, write=True, **_condition(if_version=if_version))

    def abort(self, full_key: str, upload: str) -> None:
        self._call("abort_multipart_upload", full_key, write=True, Key=full_key, UploadId=upload)

    def pages(self, method: str, prefix: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """The pages of a listing below the prefix; each is asked for when it is needed."""
        token: dict[str, Any] = {}
        while True:
            page = self._call(
                method, self._root + prefix, Prefix=self._root + prefix, **arguments, **token
            )
            yield page
            if not page.get("IsTruncated"):
                return
            token = {
                asked: page[told]
                for asked, told in (
                    ("ContinuationToken", "NextContinuationToken"),
                    ("KeyMarker", "NextKeyMarker"),
                    ("UploadIdMarker", "NextUploadIdMarker"),
                )
                if page.get(told)
            }
            if not token:
                raise StoreError(
                    f"s3://{self._bucket}/{self._root}{prefix}: the server tells that the listing "
                    "goes on, and not where: it cannot be listed whole. Upgrade the server, or "
                    "use another"
                )

    def version_of(self, answer: Mapping[str, Any]) -> str:
        """The ETag of an answer or of a row, in the form that conditions compare: strong.

        A proxy that packs or changes bodies makes that of a GET weak. No condition of a write ever
        holds with a weak one, and what the server itself compares is the same text without.
        """
        told = str(answer["ETag"])
        strong = told.removeprefix("W/")
        if strong != told:
            self.weak_versions += 1
        return strong if strong.startswith('"') else f'"{strong}"'

    def relative(self, full_key: str) -> str:
        """The key below the root."""
        return full_key[len(self._root) :]

    def absolute(self, key: str) -> str:
        """The key as the bucket has it."""
        return self._root + key

    def _object(self, method: str, key: str, *, write: bool = False, **kwargs: Any) -> Any:
        return self._call(method, self._root + key, write=write, Key=self._root + key, **kwargs)

    def _call(self, method: str, where: str, *, write: bool = False, **kwargs: Any) -> Any:
        with explained(f"s3://{self._bucket}/{where}", self._options, write=write):
            session = self._session.get()
            seconds = _PATIENCE + len(kwargs.get("Body", b"")) / _SLOWEST
            request = partial(_send, session, method, Bucket=self._bucket, **kwargs)
            return sync(session.loop, request, timeout=seconds)


class _OneSend(AIOHTTPSession):  # type: ignore[misc, unused-ignore]
    """Without aiohttp's own second try of a PUT or DELETE on a broken connection.

    The first may have been applied, and then the second is refused by its own success.
    """

    async def _get_session(self, proxy_url: Any) -> Any:
        session = await super()._get_session(proxy_url)
        session._retry_connection = False
        return session


def _connect(sealed: Mapping[str, Any]) -> Any:
    """A file system of our own, which neither retries nor caches: that is the callers' part."""
    options = unseal(sealed)
    silence_debug(*_TELL_SECRETS)
    config = {
        "connect_timeout": 10,
        "read_timeout": 60,
        "max_pool_connections": 50,
        "user_agent": f"singerlake botocore/{botocore.__version__}",  # else built anew each time
        "http_session_cls": _OneSend,
        **options.get("config_kwargs", {}),
        "retries": {"total_max_attempts": 1, "mode": "standard"},
    }
    own = {"config_kwargs": config, "use_listings_cache": False, "skip_instance_cache": True}
    session = S3FileSystem(**{**options, **own})
    session.retries = 1
    return session


async def _send(session: Any, method: str, **kwargs: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await session._call_s3(method, **kwargs)
    body = answer.get("Body")
    if body is not None:
        try:
            where = f"s3://{kwargs['Bucket']}/{kwargs['Key']}"
            require_document(answer.get("ContentLength") or 0, where)
            answer["Body"] = await body.read()
        finally:
            body.close()
    return answer


def _condition(if_absent: bool = False, if_version: str | None = None) -> dict[str, Any]:
    if if_absent:
        return {"IfNoneMatch": "*"}
    return {} if if_version is None else {"IfMatch": if_version}
