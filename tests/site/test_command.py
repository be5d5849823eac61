"""`singerlake site` on the command line, and the server behind `serve`."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from singerlake import open_lake
from singerlake.cli import main
from singerlake.errors import ConfigError, Unavailable
from singerlake.site.serve import Fresh, Server
from tests.cli import lake as acceptance
from tests.site.lakes import TAP, land


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    land(open_lake(root, create=True), "orders", {"id": {"type": "integer"}}, 3)
    return root


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["site", *map(str, arguments)])


def test_build_tells_what_it_built(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    told = run("build", lake, "--out", out)
    assert told.exit_code == 0
    assert "1 tap, 1 stream, 4 pages, 0 problems (not checked)" in told.output
    told = run("build", lake, "--out", out, "--check", "--title", "Ours", "--json")
    assert told.exit_code == 0
    body = json.loads(told.output)
    assert (body["title"], body["records"], body["problems"]) == ("Ours", 3, 0)
    assert body["checked"] is not None
    assert Path(body["index"]).is_file()


def test_build_of_a_lake_with_all_that_can_be_in_one(tmp_path: Path) -> None:
    """Two taps, hostile names, three schema versions, a damaged file."""
    acceptance.build(tmp_path / "lake")
    arguments = ("site", "build", tmp_path / "lake", "--check", "--out", tmp_path / "site")
    told = acceptance.told(*arguments)
    assert told.keys() == {
        *("built", "checked", "index", "title"),
        *("bytes", "files", "pages", "problems", "properties", "records", "streams", "taps"),
    }
    counts = ("taps", "streams", "files", "records", "pages", "problems")
    assert [told[name] for name in counts] == [2, 5, 7, 12, 9, 1]
    index = tmp_path / "site" / "index.html"
    assert told["index"] == str(index)
    said = acceptance.said(*arguments, COLUMNS="1000")
    assert said == f"{index}: 2 taps, 5 streams, 9 pages, 1 problem\n"
    streams = index.parent / "stream" / acceptance.TAP
    assert "file-corrupt" in (streams / "damaged.html").read_text()
    orders = (streams / "orders.html").read_text()
    assert all(f">v{number}<" in orders for number in (1, 2, 3))
    assert len(list(index.parent.glob("stream/*/*.html"))) == 5


def test_build_takes_what_check_found(lake: Path, tmp_path: Path) -> None:
    next(lake.rglob("*.singer.gz")).unlink()
    report = tmp_path / "checked.json"
    report.write_text(CliRunner().invoke(main, ["check", str(lake), "--json"]).output)
    told = run("build", lake, "--out", tmp_path / "site", "--check-report", report, "--json")
    assert told.exit_code == 0
    assert json.loads(told.output)["problems"] == 1
    assert "file-missing" in (tmp_path / "site" / "stream" / TAP / "orders.html").read_text()


def test_build_refuses_what_makes_no_sense(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    report = tmp_path / "checked.json"
    report.write_text("{}")
    for arguments, reason in (
        (("build", lake, "--out", tmp_path / "full"), "not empty"),
        (("build", tmp_path / "full", "--out", tmp_path / "new"), "expected a lake"),
        (("build", lake, "--out", tmp_path / "new", "--check-report", report), "check --json"),
        (("build", lake, "--out", tmp_path / "new", "--check-report", tmp_path / "no"), "exist"),
        (("build", lake, "--out", tmp_path / "new", "--check", "--check-report", report), "one of"),
        (("build", lake), "--out"),
        (("serve", lake, "--host", "192.0.2.1"), "cannot serve"),
    ):
        told = run(*arguments)
        assert told.exit_code == 2, told.output
        assert reason in told.output
    assert not (tmp_path / "new").exists()


def test_serve_builds_serves_and_ends_quietly(lake: Path) -> None:
    command = [sys.executable, "-m", "singerlake.cli", "site", "serve", str(lake)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        address = run.stdout.readline().split()[1]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert b"tap-shop--sample" in answer.read()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=20)
    assert (run.returncode, errors.strip()) == (0, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("no")
    site = tmp_path / "site"
    (site / "tap").mkdir(parents=True)
    (site / "index.html").write_text("home")
    return site


@pytest.fixture
def looks() -> list[str]:
    return []


@pytest.fixture
def server(folder: Path, looks: list[str]) -> Iterator[Server]:
    with Server(folder, "127.0.0.1", 0, Fresh(lambda: looks.append("built"), 0)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def test_the_server_gives_the_sites_files_and_nothing_else(server: Server) -> None:
    answer = ask(server, "/index.html")
    assert (answer.status, answer.read()) == (200, b"home")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "/").status == 200
    assert ask(server, "/tap/").status == 404
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/tap/../../secret.txt", "//etc/passwd"):
        assert ask(server, path).status == 404, path
    assert ask(server, "/index.html", "POST").status == 501


def test_another_sites_name_does_not_lead_here(server: Server) -> None:
    assert ask(server, "/index.html", Host="evil.example:80").status == 421
    assert ask(server, "/index.html", Host="evil.example").status == 421
    assert ask(server, "/index.html", Host="[::").status == 421
    assert ask(server, "/index.html", Host="localhost").status == 200
    assert ask(server, "/index.html", Host=f"localhost:{server.server_port}").status == 200


def test_a_look_builds_anew_once_the_last_build_is_old(server: Server, looks: list[str]) -> None:
    ask(server, "/static/site.css")
    assert looks == []
    ask(server, "/index.html")
    for _ in range(100):
        if looks:
            break
        threading.Event().wait(0.02)
    assert looks


def test_a_build_that_fails_is_told_and_tried_again() -> None:
    ended = threading.Semaphore(0)

    def rebuild() -> None:
        ended.release()
        raise Unavailable("no answer")

    fresh = Fresh(rebuild, 0)
    for _ in range(2):
        while not ended.acquire(blocking=False):
            fresh.look()
    quiet = Fresh(rebuild, 3600)
    quiet.look()
    assert not ended.acquire(timeout=0.05)


def test_an_address_that_is_taken_is_told(server: Server, folder: Path) -> None:
    with pytest.raises(ConfigError, match="cannot serve at"):
        Server(folder, "127.0.0.1", server.server_port, server.fresh)
