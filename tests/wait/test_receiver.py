"""Posts over HTTP: kept before the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import DEFAULTS, Listen
from singerlake.http.token import Token
from singerlake.wait.event import ALWAYS
from singerlake.wait.inbox import Inbox
from singerlake.wait.receiver import receiver
from singerlake.wait.status.database import open_database


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    engine = open_database(f"sqlite:///{tmp_path}/waits.db")
    yield Inbox(engine)
    engine.dispose()


@pytest.fixture
def url(inbox: Inbox) -> Iterator[str]:
    with serving(Service(receiver(inbox)), Listen("127.0.0.1", 0)) as address:
        yield address


def bodies(inbox: Inbox, name: str) -> list[Any]:
    return [post.body for post in inbox.find(name, ALWAYS)]


def test_a_post_and_its_repeat(url: str, inbox: Inbox) -> None:
    first = httpx.post(f"{url}/events/partner-file", json={"id": "7", "rows": 3})
    assert (first.status_code, first.json()["state"]) == (201, "received")
    again = httpx.post(f"{url}/events/partner-file", json={"id": "7", "rows": 4})
    assert (again.status_code, again.json()["state"]) == (200, "repeat")
    assert bodies(inbox, "partner-file") == [{"id": "7", "rows": 3}]


def test_ids_in_headers(url: str, inbox: Inbox) -> None:
    for name in ("Idempotency-Key", "X-Event-Id"):
        for expected in (201, 200):
            answer = httpx.post(f"{url}/events/{name}", headers={name: "a"})
            assert answer.status_code == expected
    assert bodies(inbox, "X-Event-Id") == [{}]


def test_names_can_hold_anything(url: str, inbox: Inbox) -> None:
    assert httpx.post(f"{url}/events/a%2Fb%20%C3%BC%3Cscript%3E").status_code == 201
    assert bodies(inbox, "a/b ü<script>") == [{}]


def test_the_time_is_that_of_the_event(url: str, inbox: Inbox) -> None:
    body = {"time": "2026-03-03T08:00:00+01:00"}
    assert httpx.post(f"{url}/events/a", json=body).status_code == 201
    (post,) = inbox.find("a", ALWAYS)
    assert post.time.isoformat() == "2026-03-03T07:00:00+00:00"


@pytest.mark.parametrize(
    "body",
    [b"{", b"[1]", b'"x"', b'{"time": "soon"}', b'{"time": 7}', b'{"a": NaN}', b"\xff", b"[" * 9,
     b'{"id": "a\\u0000"}', b'{"id": "\\ud800"}'],
)  # fmt: skip
def test_bad_posts_are_refused_with_the_reason(url: str, inbox: Inbox, body: bytes) -> None:
    answer = httpx.post(f"{url}/events/a", content=body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "BadEvent"
    assert "expected" in answer.json()["message"]
    assert bodies(inbox, "a") == []


def test_json_in_json_has_a_bound_that_every_wait_can_read(url: str, inbox: Inbox) -> None:
    """Python's parser takes what the stack has left: one post too deep would stop all waits."""
    for levels, status in ((100, 201), (101, 400), (980, 400)):
        body = b'{"a":[' * (levels // 2) + b"{}" * (levels % 2) + b"]}" * (levels // 2)
        answer = httpx.post(f"{url}/events/a", content=body)
        assert (levels, answer.status_code) == (levels, status)
    assert "levels" in answer.json()["message"]
    assert len(bodies(inbox, "a")) == 1


def test_other_requests_are_refused(url: str) -> None:
    assert httpx.get(f"{url}/events/a").status_code == 405
    assert httpx.post(f"{url}/events/").status_code == 404
    assert httpx.post(f"{url}/events/a/b").status_code == 404
    assert httpx.post(f"{url}/other").status_code == 404
    assert httpx.post(f"{url}/events/{'a' * 251}").status_code == 400
    assert httpx.post(f"{url}/events/%FF").status_code == 400
    too_large = httpx.post(f"{url}/events/a", content=b" " * (DEFAULTS.body_bytes + 1))
    assert too_large.status_code == 413


def test_a_token_is_required_where_there_is_one(inbox: Inbox) -> None:
    service = Service(receiver(inbox), token=Token("s3cret"))
    with serving(service, Listen("127.0.0.1", 0)) as url:
        assert httpx.post(f"{url}/events/a").status_code == 401
        headers = {"Authorization": "Bearer s3cret"}
        assert httpx.post(f"{url}/events/a", headers=headers).status_code == 201
