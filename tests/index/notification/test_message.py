"""Messages: every form that S3, SNS and their like give them, and what is none."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from singerlake.errors import BadNotification
from singerlake.index.notification.message import ObjectEvent, parse_message
from singerlake.index.notification.translator import Hint, Translator, Uploaded


def record(
    kind: str = "ObjectCreated:Put", bucket: str = "b", key: str = "k", **others: Any
) -> Any:
    s3 = {"bucket": {"name": bucket}, "object": {"key": key, "size": 3}}
    return {"eventVersion": "2.1", "eventName": kind, "s3": s3, **others}


def notification(*records: Any) -> str:
    return json.dumps({"Records": records})


def in_sns(body: str) -> str:
    return json.dumps({"Type": "Notification", "MessageId": "1", "Message": body})


def test_with_and_without_an_envelope() -> None:
    """SQS body, with or without the SNS envelope (`Message`)."""
    body = notification(record(), record("ObjectRemoved:Delete", key="other"))
    events = [
        ObjectEvent("ObjectCreated:Put", "b", "k"),
        ObjectEvent("ObjectRemoved:Delete", "b", "other"),
    ]
    assert parse_message(body) == events
    assert parse_message(in_sns(body)) == events
    assert parse_message(in_sns(in_sns(body)).encode()) == events


def test_the_test_event_has_no_records_and_succeeds() -> None:
    """s3:TestEvent gives no records and succeeds."""
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert parse_message(body) == []
    assert parse_message(in_sns(body)) == []


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("a%2Fdata", "a/data"),
        ("a/data", "a/data"),
        ("with+blank", "with blank"),
        ("with%2Bplus", "with+plus"),
        ("gr%C3%B6%C3%9Fe", "größe"),
        ("100%25", "100%"),
        ("%ff", "\ufffd"),
    ],
)
def test_keys_are_decoded(sent: str, key: str) -> None:
    """Keys are URL-encoded. Its defects: keys not URL-decoded."""
    assert parse_message(notification(record(key=sent)))[0].key == key


def test_names_of_events() -> None:
    """Put and CompleteMultipartUpload store, Copy updates."""
    for kind in ("Put", "CompleteMultipartUpload", "Copy", "Post"):
        for prefix in ("", "s3:"):
            (event,) = parse_message(notification(record(f"{prefix}ObjectCreated:{kind}")))
            assert event.created
    (event,) = parse_message(notification(record("ObjectRemoved:Delete")))
    assert not event.created


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "no json",
        "{}",
        '{"Records": null}',
        '{"Records": {}}',
        '{"Records": [null]}',
        '{"Records": [{}]}',
        '{"Message": "no json"}',
        '{"Type": "SubscriptionConfirmation", "Message": "m", "SubscribeURL": "http://evil"}',
        notification(record(eventVersion="1.0")),
        notification(record(eventVersion="3.0")),
        notification(record(eventVersion=2)),
        notification({**record(), "s3": {"bucket": {"name": "b"}}}),
        in_sns(in_sns(in_sns(in_sns(notification())))),
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_none(body: str | bytes) -> None:
    """Its defects: a bad version or bad JSON crashes the ingester for ever."""
    with pytest.raises(BadNotification):
        parse_message(body)


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(),
    lambda inner: (
        some.lists(inner)
        | some.dictionaries(
            some.sampled_from(["Records", "Message", "Event", "s3", "eventName", "x"]), inner
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60)
@given(JSON)
def test_nothing_but_bad_notifications(body: Any) -> None:
    with contextlib.suppress(BadNotification):
        assert isinstance(parse_message(json.dumps(body)), list)


# What events mean

LAKE, UPLOADS = "s3://lakes/team/one", "s3://datalake"


@pytest.mark.parametrize(
    ("bucket", "key", "meaning"),
    [
        ("lakes", "team/one/raw/tap-a--x/orders/manifest.json", Hint("tap-a--x", "orders")),
        ("lakes", "team/one/raw/tap-a--x/catalogue.json", Hint("tap-a--x", None)),
        ("lakes", "team/one/raw/tap-a--x/_runs/log.json", Hint("tap-a--x", None)),
        ("lakes", "team/one/raw/tap-a--x/orders/StxYGwZ/singerlake.lock", None),
        ("lakes", "team/one/raw/singerlake.json", None),
        ("lakes", "team/two/raw/tap-a--x/orders/manifest.json", None),
        ("lakes", "raw/tap-a--x/orders/manifest.json", None),
        ("lakes", "team/one/raw/../../etc/manifest.json", None),
        ("other", "team/one/raw/tap-a--x/orders/manifest.json", None),
        ("datalake", "0123/data", Uploaded("datalake", "0123/data")),
        ("datalake", "0123/other", None),
        ("datalake", "a/b/data", None),
        ("datalake", "/data", None),
        ("lakes", "0123/data", None),
    ],
)
def test_meanings(bucket: str, key: str, meaning: object) -> None:
    event = ObjectEvent("ObjectCreated:Put", bucket, key)
    assert Translator(LAKE, UPLOADS).translate(event) == meaning


def test_escaped_names_and_removals() -> None:
    translator = Translator("s3://lakes")
    event = ObjectEvent("ObjectRemoved:Delete", "lakes", "raw/tap-a--x/orders/manifest.json")
    assert translator.translate(event) == Hint("tap-a--x", "orders")
    assert translator.translate(ObjectEvent("ObjectCreated:Put", "lakes", "0123/data")) is None
    assert (
        Translator(LAKE, UPLOADS).translate(
            ObjectEvent("ObjectRemoved:Delete", "datalake", "0123/data")
        )
        is None
    )
