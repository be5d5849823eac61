"""`singerlake events watch`: absence is an event too."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import click

from singerlake.cli.console import complain, print_json_lines, say
from singerlake.cli.events.database import PACKAGES, database_option, open_waits
from singerlake.cli.extra import extra_module
from singerlake.cli.name import shown
from singerlake.cli.options import Span, command, json_option
from singerlake.cli.root import Root, reach_options
from singerlake.cli.storage_options import options_of
from singerlake.errors import ConfigError, SingerlakeError, Unavailable
from singerlake.lake import FeedOptions, Lake
from singerlake.runtime import REAL
from singerlake.wait.source.lake import LakeSource
from singerlake.wait.source.own import OwnSource

PASSWORD = "SINGERLAKE_SMTP_PASSWORD"


@command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--once", is_flag=True, help="Look once: for cron. Exits with 1 where there is news.")
@click.option(
    "--every",
    type=Span("seconds", min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option("--smtp", default="smtp://localhost", show_default=True, help="The mail server.")
@click.option(
    "--mail-from",
    default="singerlake@localhost",
    show_default=True,
    metavar="ADDRESS",
    help="The sender of mails.",
)
@database_option
@json_option
@reach_options
def watch(
    file: Path,
    once: bool,
    every: float,
    smtp: str,
    mail_from: str,
    database: str | None,
    as_json: bool,
    storage_options: str | None,
    pairs: tuple[str, ...],
) -> None:
    """Report events that did not come in time.

    FILE has what should be there by when. What is missing then goes out by mail or webhook, once,
    and is printed. $SINGERLAKE_ROOT is the lake of events that name none; the password of the mail
    server is in $SINGERLAKE_SMTP_PASSWORD. --json prints a line for each piece of news, and none
    where there is none.

    \b
    {"expectations": [{
      "name": "orders by six",
      "window": {"kind": "calendar", "frequency": "D", "zone": "Europe/Berlin"},
      "by": "6h",
      "events": [{"type": "lake-run", "tap": "tap-shop--sample", "streams": ["orders"]}],
      "notify": ["mailto:ops@example.com", "https://example.com/hook"]
    }]}

    \b
    Examples:
      singerlake events watch expectations.json
      singerlake events watch expectations.json --once --json
    """
    notices = extra_module("wait.notice", "wait", PACKAGES)
    expected = extra_module("wait.expectation", "wait", PACKAGES).read(file)
    server = notices.MailServer.parse(smtp, mail_from, os.environ.get(PASSWORD, ""))
    for address in (one for expectation in expected for one in expectation.notify):
        notices.require_address(address)
    waits = open_waits(database)
    sources = _sources(waits, options_of(storage_options, pairs), every)
    watching = extra_module("wait.watch", "wait", PACKAGES).Watch(expected, sources, waits.store())
    client = extra_module("http.client", "wait", PACKAGES).Client()
    never, told = threading.Event(), set[tuple[str, str]]()
    while True:
        try:
            found = watching.look()
            for notice in found:
                _send(notice, notices, server, client, as_json, watching, told)
        except Unavailable as error:
            # The database of waits is away: who watches for absence must not be absent itself.
            if once:
                raise
            complain(f"{type(error).__name__}: {error}")
        else:
            if once:
                click.get_current_context().exit(1 if found else 0)
        REAL.wait(never, every)


def _sources(waits: Any, options: dict[str, Any], every: float) -> dict[str, Any]:
    def opened(url: str) -> Lake:
        address = url or os.environ.get("SINGERLAKE_ROOT")
        if not address:
            raise ConfigError(
                "expected the lake of an event: `lake` in the file, or $SINGERLAKE_ROOT"
            )
        return Root(address, options).lake()

    source = LakeSource(opened, FeedOptions(poll_seconds=every, idle_seconds=max(every, 60.0)))
    sources: dict[str, Any] = {
        "lake-run": source,
        "lake-commit": source,
        "http": waits.inbox_source(),
        "own": OwnSource(),
    }
    try:
        sources["kafka"] = extra_module(
            "wait.source.kafka", "kafka", frozenset({"confluent_kafka"})
        ).KafkaSource()
    except ConfigError:
        return sources  # an event of Kafka then has no source, and the error says so
    return sources


def _send(
    notice: Any,
    notices: Any,
    server: Any,
    client: Any,
    as_json: bool,
    watching: Any,
    told: set[tuple[str, str]],
) -> None:
    """To everybody; what did not go out is tried again at the next look. `told` is who knows:
    while one address is dead, the others get no notice at every look."""
    if (notice.text, "") not in told:
        if as_json:
            print_json_lines([notices.as_json(notice)])
        else:
            say("[red]" if notice.kind == "missed" else "[yellow]", shown(notice.text))
    told.add((notice.text, ""))
    failed = False
    for address in notice.expectation.notify:
        if (notice.text, address) in told:
            continue
        try:
            notices.send(notice, address, server, client)
            told.add((notice.text, address))
        except SingerlakeError as error:
            failed = True
            complain(f"{type(error).__name__}: {error}")
    if not failed:
        watching.done(notice)
        told -= {(notice.text, address) for address in ("", *notice.expectation.notify)}
