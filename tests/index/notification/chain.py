"""A chain to test: buckets that notify queues, an index, and a reporter that keeps reports."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from singerlake.errors import Unavailable
from singerlake.index.entry import Entry
from singerlake.index.notification.aws import Queue, S3Objects
from singerlake.index.notification.ingestion import Ingestion
from singerlake.index.notification.report import Report
from singerlake.index.notification.translator import Translator
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake
from tests.index.api.ground import metadata
from tests.servers import S3Server


@dataclass
class Kept:
    """A reporter that keeps what it is given."""

    reports: list[Report] = field(default_factory=list)

    def send(self, report: Report) -> None:
        self.reports.append(report)


@dataclass
class Chain:
    """A lake and uploads in buckets of their own, which notify queues."""

    server: S3Server
    lake: Lake
    lake_bucket: str
    uploads_bucket: str
    storage: Storage
    s3: Any
    sqs: Any
    sns: Any
    objects: S3Objects
    kept: Kept = field(default_factory=Kept)
    hints: list[tuple[str, str | None]] = field(default_factory=list)

    def new_queue(self, visible_after: int = 0) -> tuple[str, str]:
        name = f"q-{uuid.uuid4().hex}"
        attributes = {"VisibilityTimeout": str(visible_after)}
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return url, found["Attributes"]["QueueArn"]

    def new_topic(self, queue_arn: str) -> str:
        topic: str = self.sns.create_topic(Name=f"t-{uuid.uuid4().hex}")["TopicArn"]
        self.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn)
        return topic

    def notify(self, bucket: str, **target: Any) -> None:
        self.s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration=target
        )

    def upload(
        self, id: str, body: bytes = b"hello", header: str | None = None, **others: Any
    ) -> None:
        text = json.dumps(metadata(id, **others)) if header is None else header
        self.s3.put_object(
            Bucket=self.uploads_bucket, Key=f"{id}/data", Body=body, Metadata={"datalake": text}
        )

    def ingestion(self, storage: Storage | None = None, **others: Any) -> Ingestion:
        translator = Translator(self.lake.store.url, f"s3://{self.uploads_bucket}")
        return Ingestion(
            storage or self.storage,
            translator,
            lambda tap, stream: self.hints.append((tap, stream)),
            self.objects,
            [self.kept],
            **others,
        )

    def left(self, url: str) -> int:
        """How many messages are in a queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def uploads(self) -> dict[str, Entry]:
        return {entry.id: entry for entry in self.storage.uploads()}


def drain(queue: Queue, ingestion: Ingestion) -> int:
    """Take messages until there are none."""
    taken = 0
    while some := queue.poll(ingestion):
        taken += some
    return taken


class Failing:
    """A storage that is down. Named as a mock: no database here fails on demand."""

    def by_id(self, id: str) -> None:
        return None

    def put_uploads(self, entries: object) -> None:
        raise Unavailable("the database does not answer")


class Broken(Failing):
    def put_uploads(self, entries: object) -> None:
        raise KeyError("a fault of ours")
