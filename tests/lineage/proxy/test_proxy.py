"""The proxy from end to end: answers, batches, outages, several backends, dead letters, skips."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from pathlib import Path

import pytest

from singerlake.errors import ConfigError
from singerlake.http.client import ClientOptions
from singerlake.http.token import Token
from singerlake.lineage.buffer import Limits
from singerlake.lineage.buffer.disk import dead
from singerlake.lineage.proxy.failed import FileHandler, LogHandler, Several, open_handler
from singerlake.lineage.schema.problem import Problem
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.base import Answer
from singerlake.lineage.transport.file import FileTransport
from singerlake.lineage.transport.http import HttpTransport
from singerlake.metrics import statsd
from tests.lineage.backend import Manner, backend, moody, takes
from tests.lineage.buffer.folder import Clock
from tests.lineage.buffer.test_limits import small_disk
from tests.lineage.proxy.running import Running, running
from tests.lineage.samples import numbered, run_event, sender_and_number

IMPATIENT = ClientOptions(read_seconds=0.2)
GOOD = json.dumps(run_event()).encode()
BAD = json.dumps(run_event(eventType="DONE")).encode()


def wait_until_sent(one: Running, count: int) -> None:
    (consumer,) = one.proxy.consumers
    for _ in range(3000):
        counted = one.proxy.buffer.state.counters()
        done = sum(counted.get((name, consumer.name), 0) for name in ("sent", "dead"))
        if done >= count:
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"{counted}")


def test_an_event_is_answered_when_it_is_safe_and_sent_on(
    tmp_path: Path, validator: Validator
) -> None:
    with (
        backend() as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        assert one.ask("POST", "/api/v1/lineage", GOOD)[:2] == (200, b"")
        assert target.wait_for(1) == [GOOD]
        wait_until_sent(one, 1)
        assert [one.metric(name) for name in ("received", "written", "sent", "lag_events")] == [
            1, 1, 1, 0,
        ]  # fmt: skip


def test_a_bad_event_gets_400_with_the_path_and_goes_to_the_handler(
    tmp_path: Path, validator: Validator
) -> None:
    with running(tmp_path, validator, FileTransport(tmp_path / "out")) as one:
        status, body, _ = one.ask("POST", "/api/v1/lineage", BAD)
        answer = json.loads(body)
        assert (status, answer["code"]) == (400, "InvalidEvent")
        assert answer["problems"][0]["path"] == "eventType"
        assert answer["message"].startswith("eventType: expected one of START")
        assert one.failed.events == [(BAD, [Problem(*answer["problems"][0].values())])]
        assert one.proxy.buffer.shelf.last == 0
        assert one.metric("invalid") == 1


def test_the_status_of_an_event_that_is_safe_is_a_setting(
    tmp_path: Path, validator: Validator
) -> None:
    with running(tmp_path, validator, FileTransport(tmp_path / "out"), accepted=201) as one:
        assert one.post(GOOD) == 201


def test_a_batch_gets_a_result_for_each_event(tmp_path: Path, validator: Validator) -> None:
    events = [numbered(0, 0), BAD, numbered(0, 1), b'"text"', numbered(0, 2)]
    body = b"[" + b" , ".join(events) + b"]"
    with (
        backend() as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        status, text, _ = one.ask("POST", "/api/v1/lineage/batch", body)
        answer = json.loads(text)
        assert status == 200
        assert answer["status"] == "partial_success"
        assert answer["summary"] == {
            "received": 5, "successful": 3, "failed": 2, "retriable": 0, "non_retriable": 2,
        }  # fmt: skip
        assert [(row["index"], row["retriable"]) for row in answer["failed_events"]] == [
            (1, False),
            (3, False),
        ]
        assert target.wait_for(3) == [events[0], events[2], events[4]]
        assert json.loads(one.ask("POST", "/api/v1/lineage/batch", b"[]")[1])["status"] == "success"
        for wrong in (b"{}", b"[1", b"", b"[" * 100_000):
            assert one.post(wrong, "/api/v1/lineage/batch") == 400


def test_gzip_is_unpacked_and_kept_plain(tmp_path: Path, validator: Validator) -> None:
    with (
        backend() as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        assert one.post(gzip.compress(GOOD), content_encoding="gzip") == 200
        assert target.wait_for(1) == [GOOD]


def test_other_paths_and_methods_are_refused_in_json(tmp_path: Path, validator: Validator) -> None:
    with running(tmp_path, validator, FileTransport(tmp_path / "out")) as one:
        for method, path, status in (
            ("GET", "/api/v1/lineage", 405),
            ("POST", "/api/v2/lineage", 404),
            ("POST", "/", 404),
        ):
            found, body, _ = one.ask(method, path)
            assert (found, set(json.loads(body))) == (status, {"code", "message"})
        assert one.ask("GET", "/healthz")[0] == 200
        assert one.ask("GET", "/readyz")[0] == 200
        assert b"singerlake_lineage_lag_events" in one.ask("GET", "/metrics")[1]


def test_an_inbound_token_is_asked_for(tmp_path: Path, validator: Validator) -> None:
    out = FileTransport(tmp_path / "out")
    with running(tmp_path, validator, out, token=Token("t0ken")) as one:
        assert one.post(GOOD) == 401
        assert one.post(GOOD, authorization="Bearer t0ken") == 200


def test_an_outage_holds_no_sender_and_no_other_backend(
    tmp_path: Path, validator: Validator
) -> None:
    with backend() as target, backend(lambda event: "503") as broken:
        transports = HttpTransport(target.url), HttpTransport(broken.url)
        with running(tmp_path, validator, *transports) as one:
            events = [numbered(0, number) for number in range(30)]
            assert {one.post(event) for event in events} == {200}
            assert target.wait_for(30) == events
            broken.wait_until_asked(3)
            assert one.metric("retries") >= 2
            assert one.proxy.buffer.lag(broken.url) == 30
            broken.manner = takes
            assert broken.wait_for(30) == events


def test_a_moody_backend_gets_all_in_order(tmp_path: Path, validator: Validator) -> None:
    with (
        backend(moody(3, 0.5)) as target,
        running(tmp_path, validator, HttpTransport(target.url, options=IMPATIENT)) as one,
    ):
        for number in range(60):
            assert one.post(numbered(0, number)) == 200
        wait_until_sent(one, 60)
        numbers = [sender_and_number(event)[1] for event in target.taken]
        assert list(dict.fromkeys(numbers)) == list(range(60))
        assert numbers == sorted(numbers)  # a double comes right behind


def test_a_restart_goes_on_where_it_was(tmp_path: Path, validator: Validator) -> None:
    with backend(lambda event: "503") as target:
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            for number in range(20):
                one.post(numbered(0, number))
        target.manner = takes
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            target.wait_for(20)
            wait_until_sent(one, 20)
        assert [sender_and_number(event)[1] for event in target.taken] == list(range(20))
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            assert one.metric("sent") == 20  # counted across restarts
            one.post(numbered(0, 20))
            target.wait_for(21)


def test_lanes_keep_the_order_of_a_run_and_pass_a_run_that_is_stuck(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "500" if stuck.is_set() and sender_and_number(event)[0] == 0 else "takes"

    stuck = threading.Event()
    stuck.set()
    with backend(manner) as target:
        transport = HttpTransport(target.url, lanes=4)
        with running(tmp_path, validator, transport, order="run") as one:
            for number in range(20):
                for sender in range(3):
                    assert one.post(numbered(sender, number)) == 200
            target.wait_for(40)
            assert one.proxy.buffer.checkpoint(target.url) == 0  # the head is still there
            stuck.clear()
            target.wait_for(60)
            wait_until_sent(one, 60)
        for sender in range(3):
            numbers = [n for s, n in map(sender_and_number, target.taken) if s == sender]
            assert numbers == list(range(20))


def test_what_a_backend_refuses_is_a_dead_letter_that_can_be_sent_again(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "400" if refusing.is_set() and sender_and_number(event)[1] % 3 == 0 else "takes"

    refusing = threading.Event()
    refusing.set()
    with (
        backend(manner) as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        for number in range(9):
            one.post(numbered(0, number))
        wait_until_sent(one, 9)
        state = one.proxy.buffer.state
        letters = dead.letters(state)
        assert [(letter.sequence, letter.status) for letter in letters] == [
            (1, 400),
            (4, 400),
            (7, 400),
        ]
        assert "because" in letters[0].reason
        assert letters[0].event == numbered(0, 0)
        assert one.metric("dead") == 3
        asked = len(target.asked)
        assert dead.revive(state, None, [1]) == 1
        target.wait_until_asked(asked + 1)  # refused again
        refusing.clear()
        assert dead.revive(state, target.url, None) == 3
        target.wait_for(9)
        for _ in range(500):
            if not dead.letters(state):
                break
            threading.Event().wait(0.02)
        assert dead.letters(state) == []


def test_an_event_that_gets_500_for_ever_can_be_skipped(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "500" if sender_and_number(event)[1] == 1 else "takes"

    with (
        backend(manner) as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        for number in range(3):
            one.post(numbered(0, number))
        target.wait_until_asked(4)
        assert one.metric("head_age_seconds") > 0
        dead.skip(one.proxy.buffer.state, target.url, 2)
        assert target.wait_for(2) == [numbered(0, 0), numbered(0, 2)]
        wait_until_sent(one, 3)
        (letter,) = dead.letters(one.proxy.buffer.state)
        assert (letter.sequence, letter.reason) == (2, dead.SKIPPED)


def test_a_full_disk_is_503_with_retry_after_and_passes(
    tmp_path: Path, validator: Validator
) -> None:
    limits = Limits(partition_bytes=60_000, free_bytes=200_000)
    with small_disk(tmp_path / "disk", "3m") as disk, backend(lambda event: "503") as target:
        transport = HttpTransport(target.url)
        with running(disk / "buffer", validator, transport, limits=limits) as one:
            noise = numbered(0, 0, 20_000)
            (disk / "other").write_bytes(bytes(2_000_000))
            statuses = []
            for _ in range(400):
                status, _, headers = one.ask("POST", "/api/v1/lineage", noise)
                statuses.append(status)
                if status == 503:
                    break
            assert statuses[-1] == 503
            assert headers["retry-after"] == "5"
            assert one.ask("GET", "/readyz")[0] == 503
            assert one.ask("GET", "/healthz")[0] == 200
            target.manner = takes
            target.wait_for(len(statuses) - 1)
            (disk / "other").unlink()
            assert one.post(noise) == 200
            assert one.ask("GET", "/readyz")[0] == 200


def test_a_stop_ends_while_a_backend_hangs(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singerlake.lineage.proxy.proxy.STOP_SECONDS", 0.5)
    with backend(lambda event: "hangs") as target:
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            one.post(GOOD)
            target.wait_until_asked(1)
        target.manner = takes
        with running(tmp_path, validator, HttpTransport(target.url)):
            assert target.wait_for(1) == [GOOD]


def test_two_backends_of_one_name_are_refused(tmp_path: Path, validator: Validator) -> None:
    same = FileTransport(tmp_path / "a"), FileTransport(tmp_path / "a")
    with pytest.raises(ConfigError, match="twice"), running(tmp_path, validator, *same):
        raise AssertionError


def test_the_same_numbers_go_to_statsd(tmp_path: Path, validator: Validator) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener,
        backend() as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(30)
        one.post(GOOD)
        wait_until_sent(one, 1)
        one.proxy._look_after()
        push = statsd.Push(one.metrics, statsd.Address("127.0.0.1", listener.getsockname()[1]))
        push.send()
        push.close()
        text = listener.recv(65536)
        while b"lineage_sent" not in text:
            text += listener.recv(65536)
        assert b"singerlake_lineage_sent:1|c|#destination:" in text


class Fails:
    """A transport with a fault of its own."""

    name, batch, lanes = "fails", 1, 1

    def __init__(self) -> None:
        self.calls = 0

    def send(self, events: object) -> Answer:
        self.calls += 1
        if self.calls < 3:
            raise KeyError("a fault")
        return Answer(1)

    def close(self) -> None:
        """Nothing is open."""


def test_a_fault_of_a_transport_does_not_end_its_consumer(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.PAUSE_SECONDS", 0.01)
    with running(tmp_path, validator, Fails()) as one:
        one.post(GOOD)
        wait_until_sent(one, 1)


# Handlers of failed events.


def test_the_dead_letter_file_is_rotated(tmp_path: Path) -> None:
    handler = FileHandler(tmp_path / "failed", file_bytes=1000, files=3)
    for number in range(30):
        handler.handle(b'{"n": %d}' % number, [Problem("run", "expected a value")])
    handler.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["failed", "failed.1", "failed.2"]
    rows = [
        json.loads(line)
        for name in reversed(files)
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert [json.loads(row["event"])["n"] for row in rows] == list(range(30 - len(rows), 30))
    assert rows[0]["problems"] == [{"path": "run", "message": "expected a value"}]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    assert (tmp_path / "failed").stat().st_mode & 0o777 == 0o600


def test_the_log_has_the_reasons_and_not_the_event(caplog: pytest.LogCaptureFixture) -> None:
    LogHandler().handle(b"s3cret", [Problem("run.runId", "expected the format uuid")])
    assert "run.runId: expected the format uuid" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_flood_of_bad_events_is_logged_in_part_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    handler = LogHandler(clock)
    for _ in range(500):
        handler.handle(b"{}", [Problem("run", "expected a value")])
    clock.passed = 2.0
    handler.handle(b"{}", [Problem("run", "expected a value")])
    lines = caplog.text.splitlines()
    assert len(lines) < 70
    assert any("more events broke the spec" in line for line in lines)


def test_a_handler_of_ones_own_is_found_by_its_path(tmp_path: Path) -> None:
    assert isinstance(open_handler("both", tmp_path), Several)
    made = open_handler("tests.lineage.proxy.running:Kept", tmp_path)
    made.handle(b"x", [])
    for wrong in ("nothing", "nowhere.at.all:x", "json:dumps", "os:getcwd"):
        with pytest.raises(ConfigError, match=wrong.partition(":")[0]):
            open_handler(wrong, tmp_path)


def test_a_handler_that_fails_costs_the_sender_nothing(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, validator, FileTransport(tmp_path / "out")) as one:

        def fail(*_: object) -> None:
            raise RuntimeError("a fault of the handler")

        monkeypatch.setattr(one.failed, "handle", fail)
        assert one.post(BAD) == 400
        assert one.post(GOOD) == 200
