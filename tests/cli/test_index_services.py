"""`singerlake index serve` and `index ingest`: the contract of the services."""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from click.testing import CliRunner

from singerlake import open_lake
from singerlake.cli import main
from singerlake.index.ingester import follow
from singerlake.index.open import open_index
from tests.index.api.ground import TAP, WHAT, land
from tests.index.api.process import running

ANY_PORT = ("--listen", "127.0.0.1:0")
QUESTION = f"/v0/archive/files/?what={WHAT}&interval=2026-01-01/.."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake = open_lake(tmp_path / "lake", create=True)
    land(lake, WHAT, 0, "run")
    return tmp_path / "lake"


@pytest.fixture
def index(root: Path, tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/index.db"
    storage = open_index(url)
    follow(storage, open_lake(root))
    storage.close()
    return url


def count(url: str, **others: Any) -> int:
    found: int = httpx.get(url + QUESTION, **others).json()["count"]
    return found


def refused(*arguments: Any, **environment: str) -> str:
    """What is said to wrong settings, which end the command with 2."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 2, done.output
    return done.stderr


def test_it_says_where_it_listens_answers_and_stops(root: Path, index: str) -> None:
    with running("index", "serve", root, "--index", index, *ANY_PORT) as server:
        assert server.line.startswith("listening on http://127.0.0.1:")
        assert count(server.url) == 1
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        foreign = httpx.get(server.url + QUESTION, headers={"host": "evil.example"})
        assert foreign.status_code == 421
        assert "process_resident_memory_bytes" in httpx.get(f"{server.url}/metrics").text
        assert server.stop() == (0, "")


@pytest.mark.slow
def test_settings_by_file_variable_and_flag(root: Path, index: str, tmp_path: Path) -> None:
    """The flag wins over the variable, the variable over the file."""
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    file = tmp_path / "settings.json"
    settings = {
        "listen": "no address",
        "index": index,
        "public-url": "https://example.com/lake/",
        "token-file": str(token),
        "connections": 7,
    }
    file.write_text(json.dumps(settings))
    environment = {"SINGERLAKE_INDEX_LISTEN": "127.0.0.1:0", "SINGERLAKE_INDEX_PUBLIC_URL": "x"}
    flags = ("--config", file, "--json", "--public-url", "https://example.com")
    with running("index", "serve", root, *flags, environment=environment) as server:
        url = json.loads(server.line)["url"]
        assert httpx.get(url + QUESTION).status_code == 401
        bearing = {"authorization": "Bearer s3cret"}
        assert count(url, headers=bearing) == 1
        (entry,) = httpx.get(url + QUESTION, headers=bearing).json()["records"]
        assert entry["url"].startswith("https://example.com/v0/")
        code, errors = server.stop()
    assert code == 0
    assert "s3cret" not in errors


@pytest.mark.slow
def test_a_token_of_the_environment_and_tls(root: Path, index: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    trust, pem = tmp_path / "ca.pem", tmp_path / "server.pem"
    authority.cert_pem.write_to_path(str(trust))
    issued.private_key_and_cert_chain_pem.write_to_path(str(pem))
    environment = {"SINGERLAKE_INDEX_TOKEN": "s3cret"}
    arguments = (root, "--index", index, "--tls-certificate", pem, *ANY_PORT)
    with running("index", "serve", *arguments, environment=environment) as server:
        assert server.url.startswith("https://127.0.0.1:")
        client = httpx.Client(verify=ssl.create_default_context(cafile=trust))
        assert client.get(server.url + QUESTION).status_code == 401
        bearing = {"authorization": "Bearer s3cret"}
        assert client.get(server.url + QUESTION, headers=bearing).json()["count"] == 1
        client.close()


@pytest.mark.slow
def test_following_while_serving(root: Path, tmp_path: Path) -> None:
    """Without an index, too: it is made, and every commit comes into it."""
    index = f"sqlite:///{tmp_path}/new.db"
    with running("index", "serve", root, "--index", index, "--follow", *ANY_PORT) as server:
        until = time.monotonic() + 120
        while count(server.url) < 1:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert server.stop() == (0, "")


@pytest.mark.slow
def test_commits_that_nobody_notified_of_are_indexed_too(root: Path, tmp_path: Path) -> None:
    index = f"sqlite:///{tmp_path}/new.db"
    environment = {"AWS_REGION": "us-east-1"}
    both = ("--index", index, *ANY_PORT)
    with running("index", "ingest", root, *both, environment=environment) as server:
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        bad = httpx.post(f"{server.url}/v0/notifications", content="no notification")
        assert bad.status_code == 400
        storage = open_index(index)
        until = time.monotonic() + 120
        land(open_lake(root), WHAT, 1, "run")
        while (newest := storage.latest(TAP, WHAT)) is None or newest.sequence < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        storage.close()
        code, _ = server.stop()
        assert code == 0


# Wrong settings


def test_a_port_that_is_taken(root: Path, index: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        said = refused("index", "serve", root, "--index", index, "--listen", listen)
    assert f"cannot listen at {listen}" in said.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--listen", "8080"), "expected HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "expected HOST:PORT"),
        (("--statsd", "a:b:c"), "address of statsd"),
        (("--tls-key", os.devnull), "needs its certificate"),
        (("--tls-certificate", "missing.pem"), "does not exist"),
        (("--connections", "0"), "connections"),
    ],
)
def test_settings_that_are_wrong(
    root: Path, index: str, arguments: tuple[str, ...], words: str
) -> None:
    said = refused("index", "serve", root, "--index", index, *arguments)
    assert words in " ".join(said.split())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"lisden": "127.0.0.1:0"}', "the setting 'lisden' is unknown. Did you mean 'listen'?"),
        ('{"config": "x"}', "the setting 'config' is unknown"),
        ("[]", "expected a JSON object of settings"),
        ("{", "expected a JSON object of settings"),
    ],
)
def test_files_that_are_wrong(root: Path, tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(content)
    assert words in " ".join(refused("index", "serve", root, "--config", file).split())


def test_there_is_no_index(root: Path, tmp_path: Path) -> None:
    said = refused("index", "serve", root, "--index", f"sqlite:///{tmp_path}/none.db", *ANY_PORT)
    assert "there is no index at" in said


def test_the_index_of_another_lake(index: str, tmp_path: Path) -> None:
    open_lake(tmp_path / "other", create=True)
    said = refused("index", "serve", tmp_path / "other", "--index", index, *ANY_PORT)
    assert "is of the lake" in " ".join(said.split())


def test_an_empty_token_is_no_token(root: Path, index: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("two words")
    said = refused("index", "serve", root, "--index", index, "--token-file", file, *ANY_PORT)
    assert "two words" not in said


def test_without_the_extra_the_error_names_it(
    root: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "starlette"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("singerlake.index.api")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    said = refused("index", "serve", root, "--index", index, *ANY_PORT)
    assert 'pip install "singerlake[index]"' in " ".join(said.split())


def test_a_report_to_nowhere(root: Path, index: str) -> None:
    arguments = ("--index", index, "--report", "s3cret", *ANY_PORT)
    said = refused("index", "ingest", root, *arguments, AWS_REGION="us-east-1")
    assert "--report: expected" in said
    assert "s3cret" not in said
