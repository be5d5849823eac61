"""The whole chain on real protocols: S3 → SQS, S3 → SNS → SQS, uploads, reports, faults."""

from __future__ import annotations

import json
import threading
from queue import SimpleQueue
from typing import Any

import pytest

from singerlake.errors import ConfigError, SingerlakeError, Unavailable
from singerlake.index.ingester import Ingester, Round
from singerlake.index.notification.aws import Queue
from singerlake.index.notification.ingestion import Ingestion
from singerlake.index.notification.translator import Translator
from singerlake.index.query import Query
from singerlake.lake.feed.options import FeedOptions
from singerlake.metrics import Metrics
from tests.index.api.ground import TAP, WHAT, land, metadata
from tests.index.notification.chain import Broken, Chain, Failing, drain
from tests.index.notification.test_message import notification, record


@pytest.mark.parametrize("through", ["SQS", "SNS"])
def test_a_commit_hints_the_feed(chain: Chain, through: str) -> None:
    url, arn = chain.new_queue()
    events = ["s3:ObjectCreated:*"]
    if through == "SQS":
        chain.notify(chain.lake_bucket, QueueConfigurations=[{"QueueArn": arn, "Events": events}])
    else:
        topic = chain.new_topic(arn)
        chain.notify(chain.lake_bucket, TopicConfigurations=[{"TopicArn": topic, "Events": events}])
    land(chain.lake, WHAT, 0, "run")
    queue, ingestion = Queue(url, wait_seconds=0), chain.ingestion()
    queue.require()
    assert drain(queue, ingestion) > 0
    assert (TAP, WHAT) in chain.hints
    assert {tap for tap, _ in chain.hints} == {TAP}
    assert chain.left(url) == 0
    assert chain.kept.reports == []


def test_lost_doubled_and_reordered_notifications_change_nothing(chain: Chain) -> None:
    """A sweep stays the truth: an index with all hints equals an index without any."""
    url, arn = chain.new_queue()
    chain.notify(
        chain.lake_bucket,
        QueueConfigurations=[{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}],
    )
    ingester = Ingester(chain.storage, chain.lake)
    translator = Translator(chain.lake.store.url)
    ingestion = Ingestion(chain.storage, translator, ingester.hint, chain.objects)
    queue = Queue(url, wait_seconds=0)
    bodies = []
    for number in range(3):
        land(chain.lake, WHAT, number, "run")
        found = chain.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        bodies += [message["Body"] for message in found]
        if number != 1:  # lost
            drain(queue, ingestion)
        ingester.poll()
    for body in [*reversed(bodies), *bodies, *bodies]:
        ingestion.take(body)
        ingester.poll()
    entries = chain.storage.page(Query(stream=WHAT), limit=100)
    assert [entry.sequence for entry in entries] == [1, 2, 3]


def test_a_notification_has_a_commit_indexed_at_once(chain: Chain) -> None:
    """The feed would look again in an hour."""
    url, arn = chain.new_queue()
    chain.notify(
        chain.lake_bucket,
        QueueConfigurations=[{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}],
    )
    land(chain.lake, WHAT, 0, "run")
    hour = FeedOptions(poll_seconds=3600, idle_seconds=3600)
    ingester = Ingester(chain.storage, chain.lake, options=hour)
    rounds: SimpleQueue[Round] = SimpleQueue()
    thread = threading.Thread(target=lambda: ingester.run(rounds.put))
    thread.start()
    assert rounds.get(timeout=60).entries == 1
    land(chain.lake, WHAT, 1, "run")
    translator = Translator(chain.lake.store.url)
    ingestion = Ingestion(chain.storage, translator, ingester.hint, chain.objects)
    drain(Queue(url, wait_seconds=0), ingestion)
    while rounds.get(timeout=60).entries != 1:
        continue
    newest = chain.storage.latest(TAP, WHAT)
    assert newest is not None
    assert newest.sequence == 2
    ingester.close()
    thread.join(60)


def test_an_upload_is_indexed_as_the_original_does_it(chain: Chain) -> None:
    url, arn = chain.new_queue()
    chain.notify(
        chain.uploads_bucket,
        QueueConfigurations=[{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}],
    )
    chain.upload("0123", end=1_772_409_700_000, work_id="job-1")
    assert drain(Queue(url, wait_seconds=0), chain.ingestion()) >= 1
    entry = chain.uploads()["0123"]
    assert (entry.tap, entry.stream, entry.run_id, entry.size) == ("host-1", "syslog", "job-1", 5)
    assert (entry.start, entry.end) == (1_772_409_600_000_000, 1_772_409_700_000_000)
    assert entry.upload is not None
    assert entry.upload.url == f"s3://{chain.uploads_bucket}/0123/data"
    assert chain.storage.page(Query(stream="syslog", run_id="job-1")) == [entry]
    (report, *_) = chain.kept.reports
    body = json.loads(report.encode())
    assert sorted(body) == ["duration", "records", "start", "status"]
    assert body["status"] == "success"
    assert body["records"] == [
        {
            "url": f"s3://{chain.uploads_bucket}/0123/data",
            "size": 5,
            "create_time": entry.create_time // 1000,
            "metadata": metadata("0123", end=1_772_409_700_000, work_id="job-1"),
        }
    ]


def test_copy_updates(chain: Chain) -> None:
    """Put and CompleteMultipartUpload store, Copy updates."""
    ingestion = chain.ingestion()
    for kind, what in (("Put", "syslog"), ("CompleteMultipartUpload", "syslog"), ("Copy", "other")):
        chain.upload("0123", what=what)
        event = record(f"ObjectCreated:{kind}", chain.uploads_bucket, "0123%2Fdata")
        assert ingestion.take(notification(event)) == 1
    (entry,) = chain.uploads().values()
    assert entry.stream == "other"


def test_bad_uploads_are_reported_and_removed(chain: Chain) -> None:
    """Errors in the data are reported and the message deleted. Its defects: a bad version or bad
    JSON crashes the ingester for ever."""
    url, _ = chain.new_queue()
    chain.upload("version", version=1)
    chain.upload("no-json", header="no json")
    chain.s3.put_object(Bucket=chain.uploads_bucket, Key="none/data", Body=b"")
    chain.upload("good")
    bad = ("version", "no-json", "none", "gone")
    for id in (*bad, "good"):
        event = record(bucket=chain.uploads_bucket, key=f"{id}%2Fdata")
        chain.sqs.send_message(QueueUrl=url, MessageBody=notification(event))
    chain.sqs.send_message(QueueUrl=url, MessageBody="no notification")
    drain(Queue(url, wait_seconds=0), chain.ingestion())
    assert chain.left(url) == 0
    assert list(chain.uploads()) == ["good"]
    errors = [one.message for one in chain.kept.reports if one.status == "error"]
    assert len(errors) == len(bad) + 1
    for id in bad:
        assert sum(f"/{id}/data" in one for one in errors) == 1
    body = json.loads(next(one for one in chain.kept.reports if one.status == "error").encode())
    assert sorted(body) == ["duration", "message", "records", "start", "status"]


def test_an_upload_cannot_take_the_place_of_a_file_of_the_lake(chain: Chain) -> None:
    land(chain.lake, WHAT, 0, "run")
    Ingester(chain.storage, chain.lake).poll()
    (entry,) = chain.storage.page(Query(stream=WHAT))
    chain.upload(entry.id)
    event = record(bucket=chain.uploads_bucket, key=f"{entry.id}/data")
    assert chain.ingestion().take(notification(event)) == 0
    assert chain.storage.by_id(entry.id) == entry
    assert "is that of a file of the lake" in chain.kept.reports[0].message


def test_what_happens_in_other_buckets_is_passed_over(chain: Chain) -> None:
    event = record(bucket="elsewhere", key="0123%2Fdata")
    assert chain.ingestion().take(notification(event)) == 0
    assert (chain.kept.reports, chain.hints) == ([], [])


@pytest.mark.parametrize("storage", [Failing(), Broken()])
def test_passing_faults_leave_the_message(chain: Chain, storage: Any) -> None:
    """Anything else leaves the message for redelivery."""
    url, _ = chain.new_queue(visible_after=0)
    chain.upload("0123")
    body = notification(record(bucket=chain.uploads_bucket, key="0123/data"))
    chain.sqs.send_message(QueueUrl=url, MessageBody=body)
    chain.sqs.send_message(QueueUrl=url, MessageBody="no notification")
    metrics = Metrics.create(process=False)
    failing = chain.ingestion(storage, metrics=metrics)
    queue = Queue(url, wait_seconds=0)
    for _ in range(2):
        with pytest.raises(SingerlakeError):
            queue.poll(failing)
    assert chain.left(url) == 1  # the bad one behind it is gone
    assert drain(queue, chain.ingestion()) == 1
    assert list(chain.uploads()) == ["0123"]
    text = metrics.text().decode()
    assert 'singerlake_index_notifications_total{outcome="passing fault"} 2.0' in text
    assert 'singerlake_index_notifications_total{outcome="bad"} 1.0' in text


def test_run_goes_on_after_faults_and_ends(chain: Chain) -> None:
    url, _ = chain.new_queue()
    queue = Queue(url, wait_seconds=0)
    done = threading.Event()
    ingestion = chain.ingestion()
    took: list[str | bytes] = []

    class Once:
        """Fails the first time."""

        def take(self, body: str | bytes) -> int:
            took.append(body)
            if len(took) == 1:
                raise Unavailable("once")
            done.set()
            return ingestion.take(body)

    chain.sqs.send_message(QueueUrl=url, MessageBody=notification())
    thread = threading.Thread(target=lambda: queue.run(Once()))  # type: ignore[arg-type]
    thread.start()
    assert done.wait(60)
    queue.close()
    thread.join(60)
    assert not thread.is_alive()


def test_a_queue_that_is_not_there(chain: Chain) -> None:
    url, _ = chain.new_queue()
    with pytest.raises(ConfigError, match="there is no such queue"):
        Queue(f"{url}-not", wait_seconds=0).require()
