"""Reports, and the webhook that takes notifications."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from singerlake.errors import NoAnswer
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import DEFAULTS, Listen
from singerlake.index.notification.aws import SNSReporter
from singerlake.index.notification.report import Report, WebhookReporter
from singerlake.index.notification.webhook import PATH, webhook_app
from tests.index.notification.chain import Chain, Failing
from tests.index.notification.test_message import in_sns, notification, record


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
