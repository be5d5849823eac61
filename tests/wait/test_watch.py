"""What did not come in time is reported, without anybody who waits."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.client import Client
from singerlake.lake import FeedOptions, open_on
from singerlake.wait import HttpEvent, LakeRun, Need, Window
from singerlake.wait.expectation import Expectation, read
from singerlake.wait.inbox import Inbox
from singerlake.wait.notice import MailServer, require_address, send
from singerlake.wait.source.inbox import InboxSource
from singerlake.wait.source.lake import LakeSource
from singerlake.wait.status.database import open_database
from singerlake.wait.status.store import StatusStore
from singerlake.wait.watch import Notice, Watch
from tests.lake.landing import STREAM, TAP, new_store
from tests.lake.running import land_run
from tests.wait.clocks import SetClock


class Desk:
    def __init__(self, engine: Any) -> None:
        self.clock = SetClock("2026-07-07T01:00")
        self.inbox, self.store = Inbox(engine, self.clock), StatusStore(engine, self.clock)

    def watch(self, *expectations: Expectation) -> Watch:
        sources = {"http": InboxSource(self.inbox, self.clock)}
        return Watch(expectations, sources, self.store, self.clock)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = open_database(f"sqlite:///{tmp_path}/waits.db")
    yield Desk(engine)
    engine.dispose()


def by_six(*names: str, **more: Any) -> Expectation:
    events = tuple(HttpEvent(name=name, post=name, late="event") for name in names)
    return Expectation(name="by six", window=Window("D"), by="6h", events=events, **more)


def kinds(notices: list[Notice]) -> list[tuple[str, str, list[str]]]:
    return [(one.kind, one.span.name, [s.event.title for s in one.events]) for one in notices]


def test_what_is_missing_at_its_deadline_is_reported_once(desk: Desk) -> None:
    watch = desk.watch(by_six("A", "B"))
    desk.inbox.take("A", {})
    assert watch.look() == []
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    assert kinds([notice]) == [("missed", "2026-07-07", ["B"])]
    assert kinds(watch.look()) == [("missed", "2026-07-07", ["B"])]  # it has not gone out yet
    watch.done(notice)
    (row,) = [one for one in desk.store.rows("by six") if one.state == "missed"]
    assert row.timeout == notice.deadline
    assert watch.look() == []
    assert desk.watch(by_six("A", "B")).look() == []  # nor after a restart
    desk.inbox.take("B", {})
    (late,) = watch.look()
    assert kinds([late]) == [("late", "2026-07-07", ["B"])]
    assert kinds(watch.look()) == [("late", "2026-07-07", ["B"])]  # it has not gone out yet
    assert kinds(desk.watch(by_six("A", "B")).look()) == [("late", "2026-07-07", ["B"])]
    watch.done(late)
    assert watch.look() == []
    assert desk.watch(by_six("A", "B")).look() == []
    assert [one.late for one in desk.store.rows("by six")] == [False, True]


def test_every_window_counts_anew(desk: Desk) -> None:
    watch = desk.watch(by_six("A"))
    for day in ("07", "08", "09"):
        desk.clock.set(f"2026-07-{day}T06:30")
        (notice,) = watch.look()
        assert notice.span.name == f"2026-07-{day}"
        watch.done(notice)


def test_a_window_that_passed_while_nobody_watched_is_reported(desk: Desk) -> None:
    desk.watch(by_six("A")).look()
    desk.clock.set("2026-07-08T01:00")
    assert kinds(desk.watch(by_six("A")).look()) == [("missed", "2026-07-07", ["A"])]


def test_windows_before_the_first_watch_are_not(desk: Desk) -> None:
    desk.clock.set("2026-07-07T05:00")
    assert desk.watch(by_six("A")).look() == []
    assert all(row.window == "2026-07-07" for row in desk.store.rows())


def test_enough_is_enough(desk: Desk) -> None:
    watch = desk.watch(by_six("A", "B", need=Need(missing_at_most=1)))
    desk.inbox.take("A", {})
    desk.clock.set("2026-07-07T06:00")
    assert watch.look() == []


def test_a_file_of_expectations(tmp_path: Path) -> None:
    path = tmp_path / "expectations.json"
    path.write_text(
        '{"expectations": [{"name": "orders", "by": "6h",'
        ' "window": {"kind": "calendar", "frequency": "D", "zone": "Europe/Berlin"},'
        ' "events": [{"type": "lake-run", "tap": "tap-a--b", "streams": ["orders"]}]}]}'
    )
    (found,) = read(path)
    assert found.awaited()[0].window == Window("D", "Europe/Berlin")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"expectations": []}',
        '{"expectations": [{"name": "x", "by": "-6h", "window": {"kind": "calendar",'
        ' "frequency": "D"}, "events": [{"type": "http", "post": "a"}]}]}',
        '{"expectations": [{"name": "x", "by": "6h", "window": {"kind": "calendar",'
        ' "frequency": "D"}, "events": []}]}',
        '{"expectations": [{"name": "x", "bye": "6h"}]}',
        '{"expectations": [{"name": "x", "by": "6h", "window": {"kind": "calendar",'
        ' "frequency": "D"}, "events": [{"type": "http", "post": "a", "moving": true}]}]}',
        '{"expectations": [{"name": "x", "by": "6h", "window": {"kind": "calendar",'
        ' "frequency": "D"}, "events": [{"type": "http", "post": "a", "window":'
        ' {"kind": "sliding", "seconds": 60}}]}]}',
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "expectations.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="expected"):
        read(path)


@pytest.mark.parametrize("address", ["mailto:", "mailto:a\nb@c", "ftp://x", "ops@example.com"])
def test_bad_addresses_are_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        require_address(address)


def test_a_mail_has_the_missing_events(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in for smtplib's session: no mail server comes as a package that we use."""
    sent: list[EmailMessage] = []

    class Session:
        def __init__(self, host: str, port: int, timeout: float) -> None:
            assert (host, port) == ("mail.example.com", 2525)

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: object) -> None: ...

        def send_message(self, message: EmailMessage) -> None:
            sent.append(message)

    monkeypatch.setattr(smtplib, "SMTP", Session)
    watch = desk.watch(by_six("evil\r\nBcc: all@example.com"))
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    server = MailServer.parse("smtp://mail.example.com:2525", "lake@example.com")
    send(notice, "mailto:ops@example.com", server, Client())
    (message,) = sent
    assert message["To"] == "ops@example.com"
    assert message["Bcc"] is None
    assert "evil" in message["Subject"]
    with pytest.raises(ConfigError, match="without a"):
        MailServer.parse("smtp://user:pass@host", "a@b")


def test_a_password_goes_out_over_tls_that_was_checked_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    class Session:
        def __init__(self, host: str, port: int, timeout: float) -> None:
            assert port == 2525

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: object) -> None: ...

        def starttls(self, *, context: ssl.SSLContext) -> None:
            assert context.verify_mode is ssl.CERT_REQUIRED
            assert context.check_hostname
            said.append("starttls")

        def login(self, user: str, password: str) -> None:
            password.encode("ascii")  # as smtplib does
            said.append(f"login {user} {password}")

        def send_message(self, message: EmailMessage) -> None:
            said.append("message")

    monkeypatch.setattr(smtplib, "SMTP", Session)
    watch = desk.watch(by_six("A"))
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    server = MailServer.parse("smtp://lake@mail.example.com:2525", "lake@example.com", "secret")
    send(notice, "mailto:ops@example.com", server, Client())
    assert said == ["starttls", "login lake secret", "message"]
    with pytest.raises(NoAnswer, match="UnicodeEncodeError"):
        send(notice, "mailto:ops@example.com", replace(server, password="ü"), Client())


@pytest.mark.parametrize(
    ("url", "encryption", "port"),
    [
        ("smtp://mail.example.com", "none", 25),
        ("smtp://lake@mail.example.com", "starttls", 587),
        ("smtps://mail.example.com", "tls", 465),
        ("smtps://lake@mail.example.com:2465", "tls", 2465),
    ],
)
def test_smtps_is_tls_from_the_first_byte(url: str, encryption: str, port: int) -> None:
    server = MailServer.parse(url, "lake@example.com", "secret")
    assert (server.encryption, server.port) == (encryption, port)


def test_a_server_of_smtps_that_speaks_no_tls_gets_no_password(desk: Desk) -> None:
    watch = desk.watch(by_six("A"))
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard: list[bytes] = []

        def answer() -> None:
            with listener.accept()[0] as plain:
                heard.append(plain.recv(1000))
                plain.sendall(b"220 plain text\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"smtps://lake@127.0.0.1:{listener.getsockname()[1]}"
        server = MailServer.parse(url, "lake@example.com", "secret")
        with pytest.raises(NoAnswer, match="SSLError"):
            send(notice, "mailto:ops@example.com", server, Client())
        thread.join()
    assert heard[0].startswith(b"\x16\x03")  # a TLS handshake, before any word of SMTP


def test_what_cannot_go_out_says_so(desk: Desk) -> None:
    watch = desk.watch(by_six("A"))
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    server = MailServer.parse("smtp://127.0.0.1:1", "lake@example.com")
    with pytest.raises(NoAnswer, match="mail server"):
        send(notice, "mailto:ops@example.com", server, Client())
    with pytest.raises(NoAnswer, match="no answer"):
        send(notice, "http://127.0.0.1:1/hook", server, Client())


@pytest.mark.parametrize(
    ("day", "utc"),
    [("2026-03-28", "05:00"), ("2026-03-29", "04:00"), ("2026-10-25", "05:00")],
)
def test_a_deadline_is_on_the_wall_clock(day: str, utc: str) -> None:
    """By six is by six, also on days of 23 and 25 hours."""
    expectation = Expectation(
        name="by six", window=Window("D", "Europe/Berlin"), by="6h", events=(HttpEvent(post="A"),)
    )
    noon = datetime.fromisoformat(f"{day}T12:00+00:00")
    wanted = datetime.fromisoformat(f"{day}T{utc}+00:00")
    assert expectation.deadline(expectation.window.at(noon)) == wanted


def test_a_deadline_where_midnight_does_not_exist() -> None:
    expectation = Expectation(
        name="x", window=Window("D", "Africa/Cairo"), by="6h", events=(HttpEvent(post="A"),)
    )
    noon = datetime.fromisoformat("2026-04-24T09:00+00:00")  # begins at one
    assert expectation.deadline(expectation.window.at(noon)).isoformat() == (
        "2026-04-24T03:00:00+00:00"
    )


def test_a_deadline_many_windows_later_is_seen(desk: Desk) -> None:
    hourly = Expectation(
        name="hourly", window=Window("H"), by="5h30m", events=(HttpEvent(post="A", name="A"),)
    )
    watch = desk.watch(hourly)
    assert watch.look() == []
    desk.clock.set("2026-07-07T01:30")
    (notice,) = watch.look()
    assert notice.span.name == "2026-07-06T20+0000"


def test_what_was_missed_while_nobody_watched_is_reported(desk: Desk) -> None:
    """A weekend, by the hour; and what did not go out comes again."""
    hourly = Expectation(
        name="hourly", window=Window("H"), by="30m", events=(HttpEvent(post="A", name="A"),)
    )
    desk.watch(hourly).look()  # of 01:00
    desk.clock.set("2026-07-09T01:10")
    watch = desk.watch(hourly)
    assert len(watch.look()) == 48
    notices = watch.look()
    assert len(notices) == 48
    for notice in notices:
        watch.done(notice)
    assert watch.look() == []
    assert watch.look() == []
    assert len(watch._waiters) == 4  # the current one, and three that are over
    assert desk.watch(hourly).look() == []


def test_an_event_of_a_month_asks_for_no_day_before_the_first_watch(desk: Desk) -> None:
    desk.clock.set("2026-07-15T01:00")
    events = (
        HttpEvent(post="A", name="A"),
        HttpEvent(post="B", name="B", window=Window("M")),
    )
    daily = Expectation(name="daily", window=Window("D"), by="6h", events=events)
    desk.watch(daily).look()
    desk.clock.set("2026-07-16T01:00")
    assert {one.span.name for one in desk.watch(daily).look()} == {"2026-07-15"}


def test_titles_of_any_length_and_any_characters(desk: Desk) -> None:
    watch = desk.watch(by_six("a" * 300 + "x", "a" * 300 + "y", "n\0l"))
    desk.clock.set("2026-07-07T06:00")
    (notice,) = watch.look()
    assert len(notice.events) == 3
    watch.done(notice)
    assert watch.look() == []


def test_what_came_just_before_the_deadline_is_not_missed(desk: Desk) -> None:
    """A lake that has not changed for long is asked less often; at the deadline it is asked."""
    store = new_store()
    open_on(store, create=True)
    source = LakeSource(lambda url: open_on(store), FeedOptions(poll_seconds=600, idle_seconds=600))
    now = datetime.now(timezone.utc)
    at = Window("D").at(now).start + timedelta(hours=1)
    desk.clock.set(f"{at:%Y-%m-%dT%H:%M}")
    expected = Expectation(
        name="by noon", window=Window("D"), by="12h", events=(LakeRun(tap=TAP, streams=(STREAM,)),)
    )
    watch = Watch([expected], {"lake-run": source}, desk.store, desk.clock)
    assert watch.look() == []
    land_run(store, "in time", [1])
    desk.clock.set(f"{at + timedelta(hours=11):%Y-%m-%dT%H:%M}")
    assert watch.look() == []
    # The control: the run of another day is missing.
    desk.clock.set(f"{at + timedelta(hours=35):%Y-%m-%dT%H:%M}")
    assert [one.kind for one in watch.look()] == ["missed"]
