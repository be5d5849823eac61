"""`singerlake index ingest`: follows a lake by its notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from singerlake.cli.extra import extra_module
from singerlake.cli.index.follow import complain_of
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.index.serve import uploads_option
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.service import PACKAGES, ServiceOptions, listen_options, service_command
from singerlake.errors import ConfigError
from singerlake.metrics import Metrics
from singerlake.runtime import REAL

STOPS_WITHIN_SECONDS = 1.0
"""What is under way then comes again: a message from its queue, a commit from the feed."""


@service_command("INGEST")
@root_arguments()
@index_option
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="URL",
    help="An SQS queue that S3 notifies, with or without SNS between them (repeatable).",
)
@uploads_option
@click.option(
    "--report",
    "reports",
    multiple=True,
    default=("log",),
    show_default=True,
    metavar="log|ARN|URL",
    help="Where uploads and bad messages are reported: the log, a topic of SNS, or a webhook "
    "(repeatable).",
)
@listen_options("127.0.0.1:8081")
def ingest(
    root: Root,
    index_url: str | None,
    queues: tuple[str, ...],
    uploads_url: str | None,
    reports: tuple[str, ...],
    service: ServiceOptions,
) -> None:
    """Follow a lake by its notifications.

    As `index follow`, and a notification of S3 has a stream indexed at once: from --queue, or by
    POST to /v0/notifications. A notification that is lost or comes twice changes nothing: every
    stream is asked for from time to time anyway. With --uploads, files that datalake clients push
    are indexed too. Bad messages are reported and removed. Serves /health and /metrics until
    SIGTERM or Ctrl-C, which is no error.

    \b
    Examples:
      singerlake index ingest s3://bucket/lake --queue https://sqs.eu-west-1.amazonaws.com/1/lake
      singerlake index ingest s3://bucket/lake --uploads s3://datalake --queue URL --report ARN
      curl --data @notification.json http://127.0.0.1:8081/v0/notifications
    """
    kit: Any = extra_module("http.service", "index", PACKAGES)
    webhook: Any = extra_module("index.notification.webhook", "index", PACKAGES)
    aws: Any = extra_module("index.notification.aws", "index", frozenset({"boto3", "botocore"}))
    chain: Any = index_module("notification.ingestion")
    translator: Any = index_module("notification.translator")
    lake, metrics = root.lake(), Metrics.create()
    opened = [aws.Queue(url) for url in queues]
    for queue in opened:
        queue.require()
    reporters = [_reporter(text, aws) for text in reports]
    storage = open_storage(lake, index_url, create=True)
    ingester = index_module("ingester").Ingester(storage, lake, on_failure=complain_of)
    ingestion = chain.Ingestion(
        storage,
        translator.Translator(lake.store.url, uploads_url),
        ingester.hint,
        aws.S3Objects(),
        reporters,
        metrics,
    )
    with ExitStack() as stack:
        stack.callback(storage.close)
        stack.enter_context(service.pushing(metrics))
        running = [stack.enter_context(_running(ingester.run, ingester.close, "index"))]
        for queue in opened:
            work = _taking(queue, ingestion)
            running.append(stack.enter_context(_running(work, queue.close, "queue")))
        service.run(
            kit.Service(
                webhook.webhook_app(ingestion, service.limits),
                service.limits,
                token=service.token,
                metrics=metrics,
                hosts=service.hosts(),
                ready=lambda: "" if all(alive() for alive in running) else "a part has ended",
            )
        )


def _taking(queue: Any, ingestion: Any) -> Callable[[], None]:
    return lambda: queue.run(ingestion)


@contextmanager
def _running(
    work: Callable[[], None], close: Callable[[], None], name: str
) -> Iterator[Callable[[], bool]]:
    """Do the work in a thread; yields whether it lives."""
    thread = REAL.start(work, f"singerlake-{name}")
    try:
        yield thread.is_alive
    finally:
        close()
        thread.join(STOPS_WITHIN_SECONDS)


def _reporter(text: str, aws: Any) -> Any:
    report: Any = index_module("notification.report")
    if text == "log":
        return report.LogReporter()
    if text.startswith("arn:"):
        return aws.SNSReporter(text)
    if text.startswith(("http://", "https://")):
        return report.WebhookReporter(text)
    raise ConfigError("--report: expected `log`, the ARN of a topic, or an address of HTTP")
