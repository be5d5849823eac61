"""Starting, stopping and TLS of a server, as a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.client import Client, ClientOptions
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from tests.http.echo import QUICK, Echo, served
from tests.http.wire import connection, get, read_answer

PROGRAM = """
import dataclasses, sys
from singerlake.http.server import serve
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from tests.http.echo import QUICK, Echo
limits = dataclasses.replace(QUICK, request_seconds=600, stop_seconds=float(sys.argv[1]))
serve(Service(Echo(limits), limits), Listen(), lambda url: print(url, flush=True))
"""


@contextmanager
def process(stop_seconds: float) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(stop_seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stderr is not None
    try:
        yield started.stdout.readline().strip(), started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
        started.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(number: int) -> None:
    with process(8) as (url, server), connection(url) as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nhost: t\r\n\r\n")
        assert read_answer(idle) is not None
        server.send_signal(number)
        assert server.wait(60) == 0


def test_a_stop_waits_for_requests_and_not_for_ever() -> None:
    with process(1) as (url, server), connection(url) as held:
        held.sendall(b"GET /hold HTTP/1.1\r\nhost: t\r\n\r\n")
        with connection(url) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\n")
            assert get(url, "/").status == 200  # so the others have been seen
            begun = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
            assert time.monotonic() - begun >= 1
        answer = read_answer(held)
        assert answer is not None
        assert (answer.status, answer.json["code"]) == (503, "Stopping")
        assert server.stderr is not None
        assert "Traceback" not in server.stderr.read()
    with pytest.raises(ConnectionRefusedError):
        get(url, "/")


def test_a_stop_does_not_wait_for_work_that_blocks() -> None:
    """A thread that hangs in a store cannot be ended: the process ends without it."""
    with process(0.2) as (url, server), connection(url) as blocked:
        blocked.sendall(b"GET /block HTTP/1.1\r\nhost: t\r\n\r\n")
        assert get(url, "/").status == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def test_a_request_under_way_is_answered_before_the_end() -> None:
    with served() as (url, app), connection(url) as opened:
        opened.sendall(b"GET /hold HTTP/1.1\r\nhost: t\r\n\r\n")
        assert get(url, "/").status == 200
        app.release()
        answer = read_answer(opened)
    assert answer is not None
    assert answer.json == {"held": True}


def test_an_address_that_is_taken_is_a_matter_of_settings() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1:{port}"):
            serving(Service(Echo(QUICK)), Listen(port=port)).__enter__()


def test_names_and_addresses_of_ipv6() -> None:
    with served(listen=Listen("localhost")) as (url, _):
        assert url.startswith("http://localhost:")
        assert get(url, "/").status == 200
    assert Listen("::1").url(80) == "http://[::1]:80"
    assert [Listen(host).is_public for host in ("::1", "0.0.0.0", "10.0.0.1")] == [
        False,
        True,
        True,
    ]


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Who to trust, a certificate, and its key."""
    issued = authority.issue_cert("localhost", "127.0.0.1")
    trust, certificate, key = (tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem"))
    authority.cert_pem.write_to_path(trust)
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    return trust, certificate, key


def test_tls(files: tuple[Path, Path, Path]) -> None:
    trust, certificate, key = files
    with served(listen=Listen(certificate=certificate, key=key)) as (url, _):
        assert url.startswith("https://")
        answer = Client(ClientOptions(ca=trust)).post(f"{url}/", b"hello")
        assert (answer.status, json.loads(answer.body)["size"]) == (200, 5)
        with pytest.raises(NoAnswer, match="TLS: unable to get local issuer certificate"):
            Client().post(f"{url}/", b"hello")


def test_a_handshake_that_does_not_come_is_cut(files: tuple[Path, Path, Path]) -> None:
    _, certificate, key = files
    with (
        served(listen=Listen(certificate=certificate, key=key)) as (url, _),
        connection(url) as opened,
    ):
        assert opened.recv(1) == b""


def test_bad_certificates_are_a_matter_of_settings(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    trust, certificate, key = files
    for listen in (
        Listen(certificate=trust),
        Listen(certificate=certificate, key=trust),
        Listen(certificate=tmp_path / "missing.pem"),
        Listen(key=key),
    ):
        with pytest.raises(ConfigError, match="certificate"):
            serving(Service(Echo(QUICK)), listen).__enter__()
