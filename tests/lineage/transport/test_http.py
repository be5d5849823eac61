"""HTTP: which answers mean sent, refused or again; keys, certificates, addresses."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from singerlake.errors import ConfigError
from singerlake.http.client import ClientOptions
from singerlake.lineage.transport.http import HttpTransport, name_of, retry_after
from singerlake.lineage.transport.open import Reach, open_transport
from tests.lineage.backend import Manner, backend

EVENT = b'{"a": 1}'


def test_an_event_that_is_taken_is_sent() -> None:
    with backend() as target:
        transport = HttpTransport(target.url, key="k3y")
        assert transport.send([EVENT]) == (1, "", False, None, None)
        assert target.taken == [EVENT]
        assert target.headers[0]["Authorization"] == "Bearer k3y"
        assert target.headers[0]["Content-Type"] == "application/json"
        transport.close()


@pytest.mark.parametrize("manner", ["400", "500", "503", "429", "resets", "loses answers"])
def test_refusals_are_told_from_what_may_pass(manner: Manner) -> None:
    with backend(lambda event: manner) as target:
        answer = HttpTransport(target.url).send([EVENT])
    assert answer.delivered == 0
    assert answer.reason
    assert answer.refused == (manner == "400")
    assert answer.after == (0 if manner in ("503", "429") else None)


@pytest.mark.parametrize("status", [301, 302, 401, 403, 404, 405, 408, 409, 418, 425, 500, 599])
def test_all_else_is_sent_again(status: int) -> None:
    with answering(status) as url:
        answer = HttpTransport(url).send([EVENT])
    assert (answer.delivered, answer.refused, answer.status) == (0, False, status)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_these_are_refused_for_good(status: int) -> None:
    with answering(status, b"no\nsuch \x1b[31mfield") as url:
        answer = HttpTransport(url).send([EVENT])
    assert answer.refused
    assert answer.reason == f"HTTP {status}: no such [31mfield"


def test_a_backend_that_echoes_our_key_does_not_get_it_logged() -> None:
    with answering(400, b"bad token k3y-k3y") as url:
        answer = HttpTransport(url, key="k3y-k3y").send([EVENT])
        assert "k3y-k3y" not in answer.reason
        host = url.removeprefix("http://")
        transport = HttpTransport(f"http://user:hunter2@{host}")
        assert "hunter2" not in transport.name
        assert "hunter2" not in transport.send([EVENT]).reason


def test_a_backend_that_echoes_our_request_does_not_get_it_logged() -> None:
    """A path and a query may be secrets: a 404 often names both."""
    echo = b"no /hooks/k3y-of-path?token=k3y-of-query; Basic dXNlcjpodW50ZXIy; hunter2 is wrong"
    with answering(404, echo) as url:
        host = url.removeprefix("http://")
        given = f"http://user:hunter2@{host}/hooks/k3y-of-path?token=k3y-of-query"
        reason = HttpTransport(given).send([EVENT]).reason
    assert reason.startswith("HTTP 404: no /")
    assert reason.endswith("is wrong")
    for secret in ("k3y", "dXNlcjpodW50ZXIy", "hunter2"):
        assert secret not in reason


def test_no_answer_is_sent_again() -> None:
    with backend() as target:
        gone = target.url
    answer = HttpTransport(gone).send([EVENT])
    assert (answer.delivered, answer.refused) == (0, False)
    assert "no answer" in answer.reason


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("", "/api/v1/lineage"),
        ("/", "/api/v1/lineage"),
        ("/openapi/openlineage/api/v1/lineage", "/openapi/openlineage/api/v1/lineage"),
        ("/hook?token=a", "/hook?token=a"),
    ],
)
def test_a_path_of_the_backend_is_kept(given: str, path: str) -> None:
    paths: list[str] = []
    with answering(200, paths=paths) as url:
        assert HttpTransport(url + given).send([EVENT]).delivered == 1
    assert paths == [path]


def test_a_name_shows_no_secret_and_stays() -> None:
    assert name_of("http://marquez:5000") == "http://marquez:5000"
    assert name_of("http://marquez:5000/") == "http://marquez:5000"
    assert name_of("https://u:p@host/s3cret") == name_of("https://host/s3cret?x=y")
    assert "s3cret" not in name_of("https://host/s3cret")
    assert name_of("https://host/a") != name_of("https://host/b")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("17", 17.0),
        ("999999", 3600.0),
        ("Wed, 18 Nov 2026 10:01:00 GMT", 60.0),
        ("Wed, 18 Nov 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float | None) -> None:
    now = datetime(2026, 11, 18, 10, tzinfo=timezone.utc)
    assert retry_after({"Retry-After": text}, now) == seconds
    assert retry_after({"retry-after": text}, now) == seconds


@contextmanager
def answering(
    status: int,
    body: bytes = b"",
    paths: list[str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if paths is not None:
                paths.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that does not trust us hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Certificates:
    def __init__(self, folder: Path) -> None:
        self._folder, self._authority = folder, trustme.CA()
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))

    def server(self, host: str = "127.0.0.1", expired: bool = False) -> ssl.SSLContext:
        until = datetime(2020, 1, 1, tzinfo=timezone.utc) if expired else None
        issued = self._authority.issue_cert(host, not_after=until)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued.configure_cert(context)
        return context

    def client(self) -> tuple[Path, ssl.SSLContext]:
        """A client's certificate, and a server that asks for one."""
        issued = self._authority.issue_cert("client@example.com")
        path = self._folder / "client.pem"
        issued.private_key_and_cert_chain_pem.write_to_path(str(path))
        context = self.server()
        context.verify_mode = ssl.CERT_REQUIRED
        self._authority.configure_trust(context)
        return path, context


@pytest.mark.parametrize("what", ["good", "wrong ca", "wrong host", "expired"])
def test_a_certificate_that_does_not_fit_is_refused_with_the_reason(
    what: str, tmp_path: Path
) -> None:
    ours = Certificates(tmp_path)
    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other")
    server = {
        "good": ours.server(),
        "wrong ca": other.server(),
        "wrong host": ours.server("example.com"),
        "expired": ours.server(expired=True),
    }[what]
    with answering(200, tls=server) as url:
        answer = HttpTransport(url, options=ClientOptions(ca=ours.ca)).send([EVENT])
    if what == "good":
        assert answer.delivered == 1
        return
    assert (answer.delivered, answer.refused) == (0, False)  # the event is kept
    words = {"wrong ca": "unable to get", "wrong host": "mismatch", "expired": "expired"}[what]
    assert "TLS" in answer.reason
    assert words in answer.reason


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    path, server = certificates.client()
    with answering(200, tls=server) as url:
        options = ClientOptions(ca=certificates.ca, certificate=path)
        assert HttpTransport(url, options=options).send([EVENT]).delivered == 1
        without = HttpTransport(url, options=ClientOptions(ca=certificates.ca)).send([EVENT])
        assert without.delivered == 0


@pytest.mark.parametrize("address", ["", "marquez:5000", "ftp://x/y", "kafka://", "file:", "http:"])
def test_an_address_of_no_known_form_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        open_transport(address, Reach())


def test_what_reaches_a_backend_is_never_shown() -> None:
    assert "s3cret" not in repr(Reach(key="s3cret", kafka={"sasl.password": "s3cret"}))
