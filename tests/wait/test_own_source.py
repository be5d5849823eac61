"""Sources that users bring, with SQS as the example: against moto's server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import boto3
import pytest

from singerlake.errors import ConfigError
from singerlake.wait import OwnEvent, Wait, Waiter, Window
from singerlake.wait.event import Awaited, parse, to_json
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.source.own import OwnSource
from singerlake.wait.status.place import VARIABLE
from tests.servers import KEY, REGION, SECRET, S3Server

SOURCE = "tests.wait.sqs:SqsSource"


class Faulty:
    """A source with faults, as people write them."""

    def anchored(self, event: OwnEvent) -> Awaited:
        raise KeyError("no-such-variable")

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        if questions[0].event.arguments["how"] == "raises":
            raise KeyError("queue")
        if questions[0].event.arguments["how"] == "is none":
            return None  # type: ignore[return-value]
        return []

    def close(self) -> None: ...


def never_made() -> Faulty:
    raise KeyError("$QUEUE")


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


@pytest.mark.parametrize(
    ("source", "how", "says"),
    [
        ("Faulty", "raises", "KeyError: 'queue'"),
        ("Faulty", "says nothing", "expected an answer to each of 1 questions, found 0"),
        ("Faulty", "is none", "TypeError"),
        ("never_made", "", "KeyError"),
    ],
)
def test_a_fault_of_a_source_is_an_error_of_its_event_alone(
    source: str, how: str, says: str
) -> None:
    """A watch goes on, and so does a wait for other things."""
    event = OwnEvent(source=f"{__name__}:{source}", arguments={"how": how})
    wait = Waiter(Wait("w", (event,), datetime.now(timezone.utc)), {"own": OwnSource()})
    (standing,) = wait.look().standings
    assert says in str(standing.error)
    assert standing.event.since is not None  # type: ignore[attr-defined]
