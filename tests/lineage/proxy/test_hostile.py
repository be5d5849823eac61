"""Hostile senders against the real process: bounded memory, good senders served, secrets kept."""

from __future__ import annotations

import gzip
import json
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from singerlake.lineage.buffer.check import check
from tests.lineage.backend import backend, takes
from tests.lineage.process import Process
from tests.lineage.samples import numbered, run_event

MOST_BYTES = 250_000_000
BATCH = "/api/v1/lineage/batch"
KEY, TOKEN, PASSWORD = "k3y-of-the-backend", "t0ken-of-senders", "passw0rd-in-the-address"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("hostile")
    process = Process(
        folder / "buffer", [f"file:{folder}/out"], "--request-seconds", "2", "--failed", "log"
    )
    yield process
    assert process.stop() == 0
    assert check(folder / "buffer").findings == ()


def memory(process: Process) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError


def connect(process: Process) -> socket.socket:
    address = urlsplit(process.url)
    assert address.hostname is not None
    return socket.create_connection((address.hostname, address.port), timeout=60)


def test_a_good_sender_is_served(proxy: Process) -> None:
    assert proxy.post(numbered(0, 0))[0] == 200


TEXT = json.dumps(run_event()).encode()
HOSTILE = {
    "NaN": TEXT.replace(b'"COMPLETE"', b"NaN"),
    "byte order mark": b"\xef\xbb\xbf" + TEXT,
    "UTF-16": json.dumps(run_event()).encode("utf-16"),
    "lone surrogate": TEXT.replace(b"COMPLETE", b"\\ud800"),
    "invalid UTF-8": TEXT.replace(b"COMPLETE", b"\xff\xfe"),
    "10,000 levels": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "10,000 levels of lists": b"[" * 10_000 + b"]" * 10_000,
    "a million levels": b"[" * 1_000_000,
    "many small brackets": b"[" + b"{}," * 300_000 + b"{}]",
    "levels below the limit of the parser": b'{"a":' * 500 + b"1" + b"}" * 500,
    "nothing": b"",
    "binary": bytes(range(256)) * 100,
    "a number with many digits": b"9" * 1_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_events_are_refused_with_a_reason(name: str, proxy: Process) -> None:
    status, body = proxy.post(HOSTILE[name])
    assert status == 400
    assert json.loads(body)["code"] == "InvalidEvent"
    status, body = proxy.post(HOSTILE[name], BATCH)
    assert status in (400, 413) or json.loads(body)["summary"]["successful"] == 0
    assert proxy.post(numbered(0, 1))[0] == 200
    assert memory(proxy) < MOST_BYTES


@pytest.mark.slow
def test_large_bodies_and_gzip_bombs_are_bounded(proxy: Process) -> None:
    assert proxy.post(b" " * 9_000_000)[0] == 413
    bomb = gzip.compress(b" " * 200_000_000, 9)
    assert proxy.post(bomb, **{"Content-Encoding": "gzip"})[0] == 413
    assert proxy.post(b"no gzip", **{"Content-Encoding": "gzip"})[0] == 400
    assert proxy.post(TEXT, **{"Content-Encoding": "br"})[0] == 415
    assert memory(proxy) < MOST_BYTES


@pytest.mark.slow
def test_small_bodies_that_are_costly_when_unpacked_are_refused(proxy: Process) -> None:
    lists = gzip.compress(b'{"run":[' + b"[]," * 10_000_000 + b"1]}", 1)
    batch = gzip.compress(b"[" + b"1," * 15_000_000 + b"1]", 1)
    assert proxy.post(lists, **{"Content-Encoding": "gzip"})[0] == 400
    assert proxy.post(batch, BATCH, **{"Content-Encoding": "gzip"})[0] == 413
    members = gzip.compress(b"", mtime=0) * 400_000
    assert proxy.post(members, **{"Content-Encoding": "gzip"})[0] == 400
    facets = ",".join(f'"{number}":{{}}' for number in range(200_000)).encode()
    event = TEXT.replace(b'"facets": {}', b'"facets": {' + facets + b"}", 1)
    assert proxy.post(event)[0] == 400
    assert proxy.post(numbered(0, 3))[0] == 200
    assert memory(proxy) < MOST_BYTES


@pytest.mark.slow
def test_chunked_bodies_are_read(proxy: Process) -> None:
    body = numbered(0, 2)
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[n : n + 1]) for n in range(len(body)))
    with connect(proxy) as sender:
        sender.sendall(
            b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunks
            + b"0\r\n\r\n"
        )
        assert sender.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_slow_senders_and_idle_connections_shut_nobody_out(proxy: Process) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(connect(proxy))
        slow = [stack.enter_context(connect(proxy)) for _ in range(200)]
        for one in slow:
            one.sendall(
                b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"
            )
        for number in range(20):
            assert proxy.post(numbered(1, number))[0] == 200
        # A sender that never comes to an end is cut off.
        slow[0].settimeout(30)
        assert slow[0].recv(100).startswith(b"HTTP/1.1 408")
    assert proxy.post(numbered(1, 20))[0] == 200
    assert memory(proxy) < MOST_BYTES


@pytest.mark.slow
def test_no_secret_is_in_a_log_an_error_a_metric_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    environment = {"SINGERLAKE_LINEAGE_TOKEN": TOKEN}
    with backend(lambda event: "400") as target:
        address = target.url.replace("http://", f"http://user:{PASSWORD}@")
        process = Process(
            tmp_path / "buffer",
            [address, f"{target.url}/{PASSWORD}/lineage"],
            "--api-key-file",
            str(tmp_path / "key"),
            environment=environment,
        )
        assert process.post(numbered(0, 0))[0] == 401
        good = {"Authorization": f"Bearer {TOKEN}"}
        assert process.post(numbered(0, 0), **good)[0] == 200
        status, body = process.post(b"{}", **good)
        assert status == 400
        target.wait_until_asked(2)
        target.manner = lambda event: "500"
        assert process.post(numbered(0, 1), **good)[0] == 200
        target.wait_until_asked(4)
        connection = process.connection()
        connection.request("GET", "/metrics", headers=good)
        metrics = connection.getresponse().read()
        connection.close()
        target.manner = takes
        process.stop()
        given = " ".join(headers.get("Authorization", "") for headers in target.headers)
        assert KEY in given  # the backend got it
    texts = {"metrics": metrics, "answer": body, "log": (tmp_path / "proxy.log").read_bytes()}
    texts |= {path.name: path.read_bytes() for path in (tmp_path / "buffer").rglob("*")}
    assert b"lineage_dead" in metrics
    assert b"400" in texts["log"] or b"500" in texts["log"]
    for secret in (KEY, TOKEN, PASSWORD):
        assert [name for name, text in texts.items() if secret.encode() in text] == []
