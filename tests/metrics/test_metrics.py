"""The registry, its text, and what statsd gets of it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from singerlake.errors import ConfigError
from singerlake.metrics import Metrics, statsd
from singerlake.metrics.statsd import Address, Push, Tags


@contextmanager
def receiver() -> Iterator[tuple[Address, socket.socket]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(60)
        yield Address("127.0.0.1", bound.getsockname()[1]), bound


def sent(metrics: Metrics, rounds: int = 1, labels: Tags = "tags") -> list[str]:
    with receiver() as (address, bound):
        push = Push(metrics, address, labels)
        for _ in range(rounds):
            push.send()
        bound.setblocking(False)
        lines = []
        try:
            while True:
                packet = bound.recv(65536)
                assert len(packet) <= statsd.PACKET
                lines += packet.decode().split("\n")
        except BlockingIOError:
            push.close()
            return lines


def test_text_shows_every_kind() -> None:
    metrics = Metrics.create()
    metrics.counter("rows", "Rows.", ("stream",)).labels("orders").inc(3)
    metrics.gauge("lag_seconds", "Lag.").set(1.5)
    metrics.histogram("work_seconds", "Work.").observe(0.02)
    text = metrics.text().decode()
    assert 'singerlake_rows_total{stream="orders"} 3.0' in text
    assert "singerlake_lag_seconds 1.5" in text
    assert 'singerlake_work_seconds_bucket{le="0.025"} 1.0' in text
    assert "process_cpu_seconds_total" in text


def test_two_registries_know_nothing_of_each_other() -> None:
    one, other = Metrics.create(process=False), Metrics.create(process=False)
    one.counter("rows", "Rows.").inc()
    other.counter("rows", "Rows.")
    assert "singerlake_rows_total 0.0" in other.text().decode()


def test_statsd_gets_growth_and_values() -> None:
    metrics = Metrics.create(process=False)
    rows = metrics.counter("rows", "Rows.", ("stream",))
    metrics.gauge("lag", "Lag.").set(-2.5)
    metrics.gauge("odd", "Odd.").set(float("nan"))
    rows.labels("a,b|c\n").inc(3)
    metrics.histogram("work", "Work.").observe(0.25)
    assert sorted(sent(metrics)) == [
        "singerlake_lag:-2.5|g",
        "singerlake_lag:0|g",
        "singerlake_rows:3|c|#stream:a_b_c_",
        "singerlake_work_count:1|c",
        "singerlake_work_sum:0.25|c",
    ]
    assert sum("|c" in line for line in sent(metrics, rounds=3)) == 3  # what grew, once
    assert "singerlake_rows.a_b_c_:3|c" in sent(metrics, labels="name")


def test_many_lines_go_in_many_packets() -> None:
    metrics = Metrics.create(process=False)
    rows = metrics.counter("rows", "Rows.", ("stream",))
    for number in range(500):
        rows.labels(f"stream-{number}").inc(number + 1)
    assert len(sent(metrics)) == 500


def test_pushing_sends_what_is_left_at_the_end() -> None:
    metrics = Metrics.create(process=False)
    rows = metrics.counter("rows", "Rows.")
    with receiver() as (address, bound), statsd.pushing(metrics, address, every=0.01):
        rows.inc()
        assert bound.recv(65536) == b"singerlake_rows:1|c"
        rows.inc(2)
        assert bound.recv(65536) == b"singerlake_rows:2|c"
    with receiver() as (address, bound):
        with statsd.pushing(metrics, address, every=600):
            rows.inc()
        assert bound.recv(65536) == b"singerlake_rows:4|c"


def test_a_server_that_is_not_there_stops_nobody() -> None:
    with receiver() as (address, _):
        pass
    metrics = Metrics.create(process=False)
    metrics.counter("rows", "Rows.").inc()
    push = Push(metrics, address)
    for _ in range(3):
        push.send()
    push.close()


@pytest.mark.parametrize(
    ("text", "host", "port"), [("h", "h", 8125), ("h:1", "h", 1), ("[::1]:9", "::1", 9)]
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert statsd.parse(text) == Address(host, port)


@pytest.mark.parametrize("text", ["", "h:", "h:0", "h:70000", "a:b:c"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        statsd.parse(text)


def test_without_the_package_the_error_names_the_extra() -> None:
    program = """
import sys
sys.modules["prometheus_client"] = None
from singerlake.errors import ConfigError
from singerlake.metrics import Metrics
try:
    Metrics.create()
except ConfigError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 'pip install "singerlake[http]"' in run.stdout
