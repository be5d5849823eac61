"""SQS, SNS and S3 as the chain uses them. Endpoints, region and credentials are boto3's."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]
from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore]
    BotoCoreError,
    ClientError,
)

from singerlake.errors import (
    ConfigError,
    NoAnswer,
    NotFound,
    PermissionDenied,
    ServiceError,
    SingerlakeError,
)
from singerlake.index.notification.ingestion import Head, Ingestion
from singerlake.index.notification.report import Report
from singerlake.index.v0.upload import METADATA
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger(__name__)

BATCH = 10
"""The most messages that SQS gives at once."""
WAIT_SECONDS = 20
"""How long a question waits for a message."""
LONGEST_PAUSE = 60.0

_MISSING = frozenset({"404", "NoSuchKey", "NoSuchBucket", "NotFound"})
_REFUSED = frozenset({"403", "AccessDenied", "AccessDeniedException", "InvalidClientTokenId"})
_UNKNOWN = frozenset(
    {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "InvalidAddress"}
)


def client(service: str) -> Any:
    """Raises `ConfigError` where no region is set."""
    config = Config(connect_timeout=5, read_timeout=WAIT_SECONDS + 10, retries={"max_attempts": 2})
    try:
        return boto3.session.Session().client(service, config=config)
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(f"{service}: {error}; set AWS_REGION") from error


class S3Objects:
    """What buckets say of objects."""

    def __init__(self) -> None:
        self._client = client("s3")

    def head(self, bucket: str, key: str) -> Head:
        with _explained(f"s3://{bucket}/{key}"):
            found = self._client.head_object(Bucket=bucket, Key=key)
        metadata = found.get("Metadata", {}).get(METADATA)
        return Head(found["ContentLength"], found["LastModified"], metadata)


class SNSReporter:
    """Publishes each report to a topic."""

    def __init__(self, topic: str) -> None:
        self._topic, self._client = topic, client("sns")

    def send(self, report: Report) -> None:
        with _explained(self._topic):
            self._client.publish(TopicArn=self._topic, Message=report.encode().decode())


class Queue:
    """An SQS queue. `run` is for one thread, `close` for any."""

    def __init__(self, url: str, runtime: Runtime = REAL, wait_seconds: int = WAIT_SECONDS) -> None:
        self._url, self._runtime, self._wait = url, runtime, wait_seconds
        self._client = client("sqs")
        self._closed = threading.Event()

    def require(self) -> None:
        """Raises `ConfigError` where there is no such queue, or it is not ours to read."""
        with _explained(self._url):
            self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])

    def close(self) -> None:
        """End `run` after the messages that are under way."""
        self._closed.set()

    def run(self, ingestion: Ingestion) -> None:
        """Take messages until `close`. A queue that does not answer is asked again, ever later."""
        pause = 1.0
        while not self._closed.is_set():
            try:
                self.poll(ingestion)
                pause = 1.0
            except SingerlakeError as error:
                logger.warning("%s: %s", type(error).__name__, error)
                self._runtime.wait(self._closed, pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def poll(self, ingestion: Ingestion) -> int:
        """Take the messages that are there; returns how many. What a passing fault hit stays in
        the queue, and SQS gives it again after its visibility time-out."""
        with _explained(self._url):
            found = self._client.receive_message(
                QueueUrl=self._url, MaxNumberOfMessages=BATCH, WaitTimeSeconds=self._wait
            ).get("Messages", [])
        failed: SingerlakeError | None = None
        done = []
        for message in found:
            try:
                ingestion.take(message["Body"])
                done.append(message)
            except SingerlakeError as error:
                failed = error
            except Exception as error:
                # A fault of ours must not keep the messages behind this one waiting.
                logger.exception("a message stays in the queue")
                failed = ServiceError(f"a message stays in the queue: {type(error).__name__}")
        self._delete(done)
        if failed is not None:
            raise failed
        return len(found)

    def _delete(self, messages: list[Any]) -> None:
        if not messages:
            return
        entries = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(messages)
        ]
        with _explained(self._url):
            answer = self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
        for failure in answer.get("Failed", []):
            logger.warning("a message was not removed, and comes again: %s", failure.get("Code"))


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn what boto3 raises into our errors."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _MISSING:
            raise NotFound(f"{where}: {code}") from error
        if code in _REFUSED:
            raise PermissionDenied(f"{where}: {code}") from error
        if code in _UNKNOWN:
            raise ConfigError(f"{where}: there is no such queue") from error
        raise ServiceError(f"{where}: {code}") from error
    except BotoCoreError as error:
        raise NoAnswer(f"{where}: {type(error).__name__}") from error
