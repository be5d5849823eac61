"""One server on each storage, for all tests that only read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.index.api.ground import Ground, served
from tests.index.places import KINDS, new_url
from tests.servers import KEY, REGION, SECRET, S3Server

WHOLE = os.environ.get("SINGERLAKE_FAULTS") == "whole"
STORAGES = KINDS if WHOLE else ("sqlite", "postgresql")  # moto's DynamoDB takes two minutes


@pytest.fixture(scope="package", params=STORAGES)
def ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        with served(folder, _new_url(request, str(request.param), folder)) as found:
            yield found


def _new_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind != "dynamodb":
        return new_url(request, kind, folder)
    server: S3Server = request.getfixturevalue("moto_server")
    return f"dynamodb://api-{uuid4().hex}?region={REGION}&endpoint_url={server.endpoint}"
