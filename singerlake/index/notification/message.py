"""A message: the body of a notification of S3, with or without the envelope of SNS."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_plus

import msgspec

from singerlake.errors import BadNotification

_DEEPEST = 3
"""SNS around SQS around SNS: more envelopes than anybody has."""


class ObjectEvent(msgspec.Struct, frozen=True):
    """Something happened to an object. `kind` is such as `ObjectCreated:Put`."""

    kind: str
    bucket: str
    key: str

    @property
    def created(self) -> bool:
        return self.kind.startswith("ObjectCreated:")

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


class _Bucket(msgspec.Struct):
    name: str


class _Object(msgspec.Struct):
    key: str


class _S3(msgspec.Struct):
    bucket: _Bucket
    object: _Object


class _Record(msgspec.Struct):
    eventVersion: str  # noqa: N815
    eventName: str  # noqa: N815
    s3: _S3


def parse_message(body: str | bytes) -> list[ObjectEvent]:
    """The events in a message; none in the test event with which S3 begins.

    Raises `BadNotification`.
    """
    found = _opened(body)
    if found.get("Event") == "s3:TestEvent":
        return []
    records = found.get("Records")
    if not isinstance(records, list):
        raise BadNotification("expected a notification of S3 with Records, found none")
    return [_event(record) for record in records]


def _opened(body: str | bytes) -> dict[str, Any]:
    """The notification, out of the envelopes around it."""
    for _ in range(_DEEPEST):
        found = _decoded(body)
        inner = found.get("Message")
        if not isinstance(inner, str):
            return found
        if found.get("Type") == "SubscriptionConfirmation":
            raise BadNotification(
                "SNS asks for a confirmation of its subscription, which nobody gives by itself: "
                "confirm it in the console of SNS, or subscribe a queue"
            )
        body = inner
    raise BadNotification(f"expected at most {_DEEPEST} envelopes around a notification")


def _decoded(body: str | bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadNotification(
            "expected a notification of S3 in JSON, found something else"
        ) from None
    if not isinstance(found, dict):
        raise BadNotification("expected a notification of S3 as a JSON object")
    return found


def _event(record: object) -> ObjectEvent:
    try:
        found = msgspec.convert(record, _Record)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadNotification(f"expected a record of a notification of S3: {error}") from None
    if not found.eventVersion.startswith("2."):
        raise BadNotification(
            f"expected version 2 of the events of S3, found {found.eventVersion[:20]!r}"
        )
    # Queues of S3 itself have `ObjectCreated:Put`, some servers have `s3:ObjectCreated:Put`.
    kind = found.eventName.removeprefix("s3:")
    return ObjectEvent(kind, found.s3.bucket.name, unquote_plus(found.s3.object.key))
