"""Sources that users bring, with SQS as the example: against moto's server."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import boto3
import pytest

from singerlake.errors import ConfigError
from singerlake.wait import OwnEvent, Wait, Waiter, Window
from singerlake.wait.event import parse, to_json
from singerlake.wait.source.own import OwnSource
from singerlake.wait.status.place import VARIABLE
from tests.servers import KEY, REGION, SECRET, S3Server

SOURCE = "tests.wait.sqs:SqsSource"


@pytest.fixture
def sqs(moto_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'waits.db'}")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", moto_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    return boto3.client("sqs")


def test_messages_of_a_queue_are_found_by_all_who_wait(sqs: Any) -> None:
    queue = sqs.create_queue(QueueName=f"q-{uuid.uuid4().hex}")["QueueUrl"]
    event = OwnEvent(
        source=SOURCE, arguments={"queue": queue}, match={"country": "DE"}, window=Window("D")
    )
    assert parse(to_json([event])) == (event,)
    now = datetime.now(timezone.utc)
    waits = [Waiter(Wait(f"w{one}", (event,), now), {"own": OwnSource()}) for one in range(2)]
    for country in ("FR", "FR", "DE"):
        sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"country": country}))
    # The first takes all of them from the queue, and away from nobody.
    for wait in waits:
        (standing,) = wait.look().standings
        assert standing.arrival is not None
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "0"


@pytest.mark.parametrize("name", ["", "no.such.module:x", "json:nothing", "json:dumps"])
def test_what_is_no_source_is_an_error_of_its_event_alone(name: str) -> None:
    now = datetime.now(timezone.utc)
    event = OwnEvent(source=name, since=now)
    (standing,) = Waiter(Wait("w", (event,), now), {"own": OwnSource()}).look().standings
    assert isinstance(standing.error, ConfigError)
