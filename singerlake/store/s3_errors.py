"""What S3 and the way to it can answer, in the words of the store's contract."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import botocore.exceptions as boto  # type: ignore[import-untyped, unused-ignore]
from botocore.parsers import (  # type: ignore[import-untyped, unused-ignore]
    ResponseParserError,
)

from singerlake.errors import (
    BadLocation,
    BadName,
    Changed,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    SingerlakeError,
    StoreError,
    Unavailable,
    Unsupported,
)
from singerlake.store.secrets import cause, scrub, text_of

_NO_BUCKET = {"NoSuchBucket", "InvalidBucketName"}
_WRONG_REGION = {
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
}
_DENIED = {
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
}
# A 409 is refused for sure; so is a body that was cut or changed on its way.
_REFUSED_FOR_NOW = {
    "BadDigest",
    "ConditionalRequestConflict",
    "IncompleteBody",
    "OperationAborted",
}
_BUSY = {"RequestTimeout", "SlowDown", "ServiceUnavailable", "InternalError", "Throttling"}

_NO_ANSWER = (
    boto.HTTPClientError,
    boto.ConnectionError,
    boto.IncompleteReadError,
    ResponseParserError,
    aiohttp.ClientError,
    asyncio.TimeoutError,
    TimeoutError,
    ConnectionError,
)
_NO_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.ProfileNotFound,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.SSOError,
)
_BAD_SETTINGS = (boto.BotoCoreError, TypeError, ValueError, KeyError, AttributeError)


class OutOfRange(StoreError):
    """The range begins past the object's end."""


class UploadGone(Unavailable):
    """The upload in parts is not there, or the server knows none."""


class NotModified(StoreError):
    """The object is still the version that the request named."""


@contextlib.contextmanager
def explained(where: str, options: Mapping[str, Any], *, write: bool) -> Iterator[None]:
    """Turn what s3fs, botocore and aiohttp raise into the errors that the contract names.

    A refused condition is `Changed`. `write` says that no answer leaves the outcome open.
    """
    try:
        yield
    except SingerlakeError:
        raise
    except Exception as error:
        answer = _answer(error)
        if answer is not None:
            raise _refusal(answer, where, write) from error
        # No cause on these two: their text may quote a setting.
        if isinstance(error, _NO_CREDENTIALS):
            raise PermissionDenied(
                f"{where}: no usable credentials ({scrub(str(error), options)}): give `key` and "
                "`secret` in storage_options, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                "or a profile or role that botocore finds; `anon: true` for a public bucket"
            ) from None
        if isinstance(error, _NO_ANSWER):
            kind = OutcomeUnknown if write else Unavailable
            told = f"{where}: no answer ({text_of(error, options)})"
            raise kind(told) from cause(error, options)
        if isinstance(error, _BAD_SETTINGS):
            raise BadLocation(
                f"{where}: storage_options do not work ({text_of(error, options)})"
            ) from None
        raise


def _answer(error: BaseException) -> boto.ClientError | None:
    """The server's answer, which s3fs hides behind an OSError as its cause."""
    if isinstance(error, boto.ClientError):
        return error
    return error.__cause__ if isinstance(error.__cause__, boto.ClientError) else None


def _refusal(answer: boto.ClientError, where: str, write: bool) -> SingerlakeError:
    details = answer.response.get("Error", {})
    code = str(details.get("Code", ""))
    status = int(answer.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    said = f"{where}: {status} {code}: {details.get('Message', '')}".rstrip(": ")
    if code in _NO_BUCKET:
        return BadLocation(f"{said}. Create the bucket, or mend its name")
    if code in _WRONG_REGION or status in (301, 307):
        return BadLocation(f"{said}. Give the bucket's region: client_kwargs.region_name")
    if code == "NoSuchUpload":
        return UploadGone(said)
    if code in _REFUSED_FOR_NOW or status == 409:
        return Unavailable(said)
    if code == "NotImplemented" or status == 501:
        return Unsupported(said)
    if code in _BUSY or status >= 500 or status in (408, 429):
        return OutcomeUnknown(said) if write else Unavailable(said)
    if status == 304:
        return NotModified(f"{where}: not modified")
    if status == 412:
        return Changed(f"{where}: the condition does not hold")
    if status == 404:
        return NotFound(f"{where}: there is no such object")
    if code in _DENIED or status in (401, 403):
        return PermissionDenied(
            f"{said}. The credentials need s3:GetObject, s3:PutObject, s3:DeleteObject and, "
            "without which S3 says 403 for an object that is not there, s3:ListBucket"
        )
    if status == 416:
        return OutOfRange(said)
    if code == "KeyTooLongError":
        return BadName(said)
    return StoreError(said)
