"""A source of one's own, as an example: messages of an SQS queue.

A queue gives each message once, so the source keeps it in the inbox before it deletes it. A crash
between the two brings the message again, and its id says that it is a repeat.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import boto3
import msgspec

from singerlake.wait.event import Awaited, HttpEvent, OwnEvent
from singerlake.wait.inbox import Inbox
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.source.inbox import InboxSource
from singerlake.wait.status.database import open_database


class SqsSource:
    """Events have `arguments={"queue": URL}`."""

    def __init__(self) -> None:
        self._inbox = Inbox(open_database(os.environ["SINGERLAKE_EVENTS_DATABASE"]))
        self._posts = InboxSource(self._inbox)
        self._client: Any = boto3.client("sqs")

    def anchored(self, event: OwnEvent) -> Awaited:
        if event.window or event.since:
            return event
        return msgspec.structs.replace(event, since=datetime.now(timezone.utc))

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        for queue in {one.event.arguments["queue"] for one in questions}:
            self._drain(queue)
        return self._posts.look([Question(_post(one.event), one.span) for one in questions])

    def close(self) -> None:
        self._client.close()

    def _drain(self, queue: str) -> None:
        while True:
            answer = self._client.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            )
            for message in answer.get("Messages", ()):
                sent = int(message["Attributes"]["SentTimestamp"]) / 1000
                time = datetime.fromtimestamp(sent, timezone.utc)
                body = json.loads(message["Body"])
                self._inbox.take(_name(queue), body, message["MessageId"], time)
                self._client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            if not answer.get("Messages"):
                return


def _post(event: OwnEvent) -> HttpEvent:
    return HttpEvent(post=_name(event.arguments["queue"]), match=event.match, since=event.since)


def _name(queue: str) -> str:
    return f"sqs/{queue.rpartition('/')[2]}"
