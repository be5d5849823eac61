"""Requests that nobody thought of: schemathesis makes them from `/spec/`, and finds no 5xx."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from singerlake.index.api.app import index_app
from singerlake.index.api.archive import Archive
from tests.index.api.ground import Ground

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    response_schema_conformance,
    content_type_conformance,
]
EXAMPLES = 2000 if os.environ.get("SINGERLAKE_FAULTS") == "whole" else 25

PATHS = [
    "/v0/archive/",
    "/v0/archive/files/",
    "/v0/archive/summary",
    "/v0/archive/files/{id}/metadata",
    "/v0/archive/files/{id}/data",
    "/v0/archive/latest/{what}/{where}",
    "/v0/archive/latest/{what}/{where}/data",
    "/v0/environment/",
]


def send_requests(
    url: str, path: str, mode: GenerationMode, checks: list[Any] = CHECKS, examples: int = EXAMPLES
) -> int:
    """Send requests of one path, and check the answers; returns how many were sent."""
    operation = schemathesis.openapi.from_url(f"{url}/spec/")[path]["GET"]
    sent = 0

    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate(checks=checks)

    send()
    return sent


@pytest.mark.parametrize("path", PATHS)
def test_no_request_makes_it_fail(ground: Ground, path: str) -> None:
    sent = send_requests(ground.url, path, GenerationMode.POSITIVE)
    assert sent >= (EXAMPLES if "{" in path or "files" in path else 1)


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith(("files/", "summary"))])
def test_no_request_that_breaks_the_schema_makes_it_fail(ground: Ground, path: str) -> None:
    assert send_requests(ground.url, path, GenerationMode.NEGATIVE) >= EXAMPLES


class Broken(Archive):
    """Fails on a name that nobody has, as a careless parser would."""

    def summary(self, given: Mapping[str, str]) -> dict[str, Any]:
        if not given.get("what", "").isascii():
            raise UnicodeError("an unusual name")
        return super().summary(given)


def test_a_broken_api_is_noticed(ground: Ground) -> None:
    """The control: these requests do find a 500."""
    service = Service(index_app(Broken(ground.storage, ground.lake)))
    with serving(service, Listen()) as url, pytest.raises(FailureGroup, match="500"):
        send_requests(
            url, "/v0/archive/summary", GenerationMode.POSITIVE, [not_a_server_error], 200
        )
