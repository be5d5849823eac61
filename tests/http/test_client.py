"""The client: what it sends, how long it waits, and what it does not say."""

from __future__ import annotations

import base64
import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.client import Client, ClientOptions
from tests.http.echo import QUICK, served

SECRET = "/hooks/s3cret?token=s3cret"


@contextmanager
def peer(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says what a test wants it to say, once."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            taken, _ = listener.accept()
            with taken:
                taken.recv(65536)
                talk(taken)
                ended.wait(60)

        thread = threading.Thread(target=run)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        thread.join()


def test_it_posts_and_reads() -> None:
    with served() as (url, _):
        client = Client()
        answer = client.post(f"{url}/", b"hello", {"x-any": "thing"})
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert client.request("GET", f"{url}/problem").status == 409
        client.close()


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    def redirect(opened: socket.socket) -> None:
        opened.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n")

    with peer(redirect) as url:
        assert Client(ClientOptions(read_seconds=0.5)).request("HEAD", url).status == 302


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx", b"HTTP/1.1 200 OK\r\nx: "],
    ids=["nothing", "a body without end", "a head without end"],
)
def test_who_does_not_answer_in_time_gave_no_answer(said: bytes) -> None:
    with peer(lambda opened: opened.sendall(said)) as url:
        with pytest.raises(NoAnswer) as caught:
            Client(ClientOptions(read_seconds=0.2)).post(url + SECRET, b"")
        assert "s3cret" not in str(caught.value)
        assert url in str(caught.value)


def test_an_answer_that_drips_is_cut() -> None:
    def drip(opened: socket.socket) -> None:
        opened.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        try:
            while True:
                opened.sendall(b"x" * 65536)
        except OSError:
            return

    with peer(drip) as url, pytest.raises(NoAnswer, match="did not end in time"):
        Client(ClientOptions(total_seconds=0)).post(url, b"")


def test_an_answer_has_a_bound() -> None:
    limits = dataclasses.replace(QUICK, stall_seconds=600)
    with served(limits) as (url, _), pytest.raises(NoAnswer, match="at most 100000 bytes"):
        Client(ClientOptions(answer_bytes=100_000)).request("GET", f"{url}/big")


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NoAnswer) as caught:
        Client().post(f"http://user:s3cret@127.0.0.1:{port}{SECRET}", b"")
    assert "s3cret" not in str(caught.value)
    assert f"http://127.0.0.1:{port}/…" in str(caught.value)


@pytest.mark.parametrize("url", ["", "s3cret", "ftp://h/s3cret", "http://", "http://[s3cret"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Client().post(url, b"")
    assert "s3cret" not in str(caught.value)


def test_bad_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    for options in (
        ClientOptions(ca=tmp_path / "ca.pem"),
        ClientOptions(certificate=tmp_path / "missing.pem"),
    ):
        with pytest.raises(ConfigError, match="expected certificates in PEM"):
            Client(options)


def test_a_connection_is_used_again_and_one_that_has_ended_is_not() -> None:
    taken: list[int] = []

    def run(listener: socket.socket) -> None:
        for requests in (2, 1):
            opened, _ = listener.accept()
            with opened:
                for _ in range(requests):
                    taken.append(opened.getpeername()[1])
                    opened.recv(65536)
                    opened.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        client = Client()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert [client.request("GET", url).body for _ in range(2)] == [b"ok", b"ok"]
        time.sleep(0.1)  # the server closes the first connection, and nobody is told
        assert client.request("GET", url).body == b"ok"
        client.close()
        thread.join()
    assert taken[0] == taken[1] != taken[2]


def test_a_large_body_may_be_refused_before_it_is_sent() -> None:
    def refuse(opened: socket.socket) -> None:
        answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig"
        opened.sendall(answer)
        opened.close()

    with peer(refuse) as url:
        answer = Client().post(url, bytes(20_000_000))
    assert (answer.status, answer.body) == (413, b"big")


def test_an_answer_before_the_answer_is_not_taken_for_that_of_the_next_request() -> None:
    def run(listener: socket.socket) -> None:
        for number in range(2):
            opened, _ = listener.accept()
            with opened:
                opened.recv(65536)
                if not number:
                    opened.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                    time.sleep(0.1)
                opened.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n%d" % number)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        client = Client()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NoAnswer, match="103"):
            client.post(url, b"first")
        assert client.post(url, b"second").body == b"1"
        client.close()
        thread.join()


def test_an_answer_that_ends_too_early_is_none() -> None:
    def cut(opened: socket.socket) -> None:
        opened.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx")
        opened.shutdown(socket.SHUT_RDWR)

    with peer(cut) as url, pytest.raises(NoAnswer):
        Client().post(url, b"")


def test_user_path_and_query_are_sent_as_they_are_meant() -> None:
    heard: list[bytes] = []

    def run(listener: socket.socket) -> None:
        opened, _ = listener.accept()
        with opened:
            heard.append(opened.recv(65536))
            opened.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        client = Client()
        assert client.post(f"http://me:p%40ss@{host}/a%2Fb/ü?q=%20&r=1#part", b"x").status == 204
        client.close()
        thread.join()
    head = heard[0].decode().splitlines()
    assert head[0] == "POST /a%2Fb/%C3%BC?q=%20&r=1 HTTP/1.1"
    assert f"Host: {host}" in head
    assert f"Authorization: Basic {base64.b64encode(b'me:p@ss').decode()}" in head
