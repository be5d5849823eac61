"""The token, and the addresses of a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from singerlake.errors import ConfigError
from singerlake.http.settings import LOOPBACK, parse_listen
from singerlake.http.token import Token, read_token
from singerlake.metrics import Metrics
from tests.http.echo import served
from tests.http.wire import ask, get


def test_only_who_bears_the_token_is_answered() -> None:
    with served(token=Token("s3cret"), metrics=Metrics.create(process=False)) as (url, _):
        for header in (
            "x-nothing: 1",
            "authorization: Bearer wrong",
            "authorization: Bearer s3cret2",
            "authorization: Basic s3cret",
            "authorization: s3cret",
            "authorization: Bearer \xff",
        ):
            for path in ("/", "/metrics", "/nowhere"):
                answer = get(url, path, header)
                assert (answer.status, answer.json["code"]) == (401, "Unauthorized")
                assert answer.headers["www-authenticate"] == "Bearer"
        for header in ("authorization: Bearer s3cret", "Authorization: bearer  s3cret"):
            assert get(url, "/", header).status == 200
        assert get(url, "/healthz").status == 200


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    environment = {"TOKEN": "from-environment"}
    bearing = [(b"authorization", b"Bearer from-file")]
    for_file = read_token(file, "TOKEN", environment)
    assert for_file is not None
    for_file.require(bearing)
    assert "from-file" not in f"{for_file!r}{for_file}"
    for_variable = read_token(None, "TOKEN", environment)
    assert for_variable is not None
    for_variable.require([(b"authorization", b"Bearer from-environment")])
    assert read_token(None, "OTHER", environment) is None


@pytest.mark.parametrize("content", [b"", b"two words", b"\xff\xfe", "größe".encode()])
def test_what_is_no_token_is_a_matter_of_settings(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_token(file, "TOKEN", {})
    assert not content or content.decode("latin-1") not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:80", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("[evil", 421),
        ("", 421),
    ],
)
def test_only_by_the_names_of_this_machine(host: str, status: int) -> None:
    """No web page reads by a name of its own what is served to this machine alone."""
    with served(hosts=LOOPBACK) as (url, _):
        head = f"GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        answer = ask(url, head.encode())
        assert answer is not None
        assert answer.status == status
        assert get(url, "/health").status == 200


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("localhost:0", "localhost", 0),
        ("[::1]:80", "::1", 80),
        (":9000", "0.0.0.0", 9000),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_listen(text) == (host, port)


@pytest.mark.parametrize("text", ["", "8080", "host", "host:70000", "::1:80", "http://h:1", "h:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        parse_listen(text)
