"""The proxy's answers: events, batches, gzip, tokens, a full disk; and its numbers."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path

import pytest

from singerlake.errors import ConfigError
from singerlake.http.client import ClientOptions
from singerlake.http.token import Token
from singerlake.lineage.buffer import Limits
from singerlake.lineage.schema.problem import Problem
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.file import FileTransport
from singerlake.lineage.transport.http import HttpTransport
from singerlake.metrics import statsd
from tests.lake.locking import until
from tests.lineage.backend import backend, takes
from tests.lineage.proxy.running import running, wait_until_sent
from tests.lineage.samples import numbered, run_event
from tests.lineage.small_disk import small_disk

IMPATIENT = ClientOptions(read_seconds=0.2)
GOOD = json.dumps(run_event()).encode()
BAD = json.dumps(run_event(eventType="DONE")).encode()


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
            # Unaided: behind a balancer, who is not ready gets no event to try it with.
            until(lambda: one.ask("GET", "/readyz")[0] == 200, seconds=30)
            assert one.post(noise) == 200


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
