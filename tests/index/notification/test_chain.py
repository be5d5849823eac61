"""The whole chain on real protocols: S3 → SQS, S3 → SNS → SQS, uploads, reports, faults."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import boto3
import httpx
import pytest

from singerlake import open_lake
from singerlake.errors import ConfigError, NoAnswer, SingerlakeError, Unavailable
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import DEFAULTS, Listen
from singerlake.index.entry import Entry
from singerlake.index.ingester import Ingester, Round
from singerlake.index.notification.aws import Queue, S3Objects, SNSReporter
from singerlake.index.notification.ingestion import Ingestion
from singerlake.index.notification.report import Report, WebhookReporter
from singerlake.index.notification.translator import Translator
from singerlake.index.notification.webhook import PATH, webhook_app
from singerlake.index.open import open_index
from singerlake.index.query import Query
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake
from singerlake.lake.feed.options import FeedOptions
from singerlake.metrics import Metrics
from tests.index.api.ground import TAP, WHAT, land, metadata
from tests.index.notification.test_message import in_sns, notification, record
from tests.plugins.venvs import environment
from tests.servers import KEY, REGION, SECRET, S3Server, run_ministack

REQUIREMENTS = Path(__file__).parent / "ministack.txt"


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


@pytest.fixture(scope="module", params=["moto", "ministack"])
def server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    if request.param == "moto":
        yield request.getfixturevalue("moto_server")
        return
    program = environment(REQUIREMENTS, "ministack") / "bin" / "ministack"
    with run_ministack(program) as started:
        yield started


@pytest.fixture(scope="module")
def clients(server: S3Server) -> Iterator[tuple[Any, Any, Any, S3Objects]]:
    """A client takes a tenth of a second to make: one of each for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("AWS_ENDPOINT_URL", server.endpoint),
            ("AWS_REGION", REGION),
            ("AWS_DEFAULT_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ):
            patch.setenv(name, value)
        session = boto3.session.Session()
        s3, sqs, sns = (session.client(name) for name in ("s3", "sqs", "sns"))
        yield s3, sqs, sns, S3Objects()


@pytest.fixture
def chain(
    server: S3Server, tmp_path: Path, clients: tuple[Any, Any, Any, S3Objects]
) -> Iterator[Chain]:
    bucket, uploads = server.new_bucket(), server.new_bucket()
    options = server.storage_options()
    lake = open_lake(f"s3://{bucket}/lake", create=True, **options)
    storage = open_index(f"sqlite:///{tmp_path}/index.db")
    yield Chain(server, lake, bucket, uploads, storage, *clients)
    storage.close()


def drain(queue: Queue, ingestion: Ingestion) -> int:
    """Take messages until there are none."""
    taken = 0
    while some := queue.poll(ingestion):
        taken += some
    return taken


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


class Failing:
    """A storage that is down. Named as a mock: no database here fails on demand."""

    def by_id(self, id: str) -> None:
        return None

    def put_uploads(self, entries: object) -> None:
        raise Unavailable("the database does not answer")


class Broken(Failing):
    def put_uploads(self, entries: object) -> None:
        raise KeyError("a fault of ours")


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


# Reports


def test_reports_over_sns(chain: Chain) -> None:
    url, arn = chain.new_queue()
    reporter = SNSReporter(chain.new_topic(arn))
    report = Report(status="error", start=1, duration=0.5, records=(), message="why")
    reporter.send(report)
    (message,) = chain.sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(json.loads(message["Body"])["Message"]) == {
        "status": "error",
        "start": 1,
        "duration": 0.5,
        "records": [],
        "message": "why",
    }


class _Receiver(BaseHTTPRequestHandler):
    taken: list[Any]
    status = 200

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        type(self).taken.append(json.loads(self.rfile.read(length)))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""


def test_reports_over_a_webhook_which_may_fail(chain: Chain) -> None:
    handler = type("Receiver", (_Receiver,), {"taken": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        reporter = WebhookReporter(f"http://127.0.0.1:{server.server_port}/s3cret")
        chain.kept.send = reporter.send  # type: ignore[method-assign]
        ingestion = chain.ingestion()
        ingestion.take("no notification")
        handler.status = 500  # type: ignore[attr-defined]
        ingestion.take("no notification")  # a report that fails keeps no message
        with pytest.raises(NoAnswer) as caught:
            reporter.send(Report(status="success", start=1, duration=0, records=()))
        assert "s3cret" not in str(caught.value)
        server.shutdown()
        thread.join()
    assert [one["status"] for one in handler.taken] == ["error", "error", "success"]  # type: ignore[attr-defined]


# The webhook


def test_the_webhook_takes_what_queues_take(chain: Chain) -> None:
    service = Service(webhook_app(chain.ingestion(), DEFAULTS))
    chain.upload("0123")
    with serving(service, Listen()) as url:
        body = notification(record(bucket=chain.uploads_bucket, key="0123%2Fdata"))
        for sent in (body, in_sns(body)):
            answer = httpx.post(url + PATH, content=sent)
            assert (answer.status_code, answer.json()) == (200, {"taken": 1})
        bad = httpx.post(url + PATH, content=b"no notification")
        assert (bad.status_code, bad.json()["code"]) == (400, "BadNotification")
        assert httpx.get(url + PATH).status_code == 405
    assert list(chain.uploads()) == ["0123"]


def test_the_webhook_has_the_sender_try_again(chain: Chain) -> None:
    failing: Any = Failing()
    chain.upload("0123")
    body = notification(record(bucket=chain.uploads_bucket, key="0123%2Fdata"))
    with serving(Service(webhook_app(chain.ingestion(failing), DEFAULTS)), Listen()) as url:
        answer = httpx.post(url + PATH, content=body)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
