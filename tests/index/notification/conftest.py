"""The chain on each server that is to be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from singerlake import open_lake
from singerlake.index.notification.aws import S3Objects
from singerlake.index.open import open_index
from tests.index.notification.chain import Chain
from tests.plugins.venvs import environment
from tests.servers import KEY, REGION, SECRET, S3Server, run_ministack

REQUIREMENTS = Path(__file__).parent / "ministack.txt"


@pytest.fixture(scope="package", params=["moto", "ministack"])
def server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    if request.param == "moto":
        yield request.getfixturevalue("moto_server")
        return
    program = environment(REQUIREMENTS, "ministack") / "bin" / "ministack"
    with run_ministack(program) as started:
        yield started


@pytest.fixture(scope="package")
def clients(server: S3Server) -> Iterator[tuple[Any, Any, Any, S3Objects]]:
    """A client takes a tenth of a second to make: one of each for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("AWS_ENDPOINT_URL", server.endpoint),
            ("AWS_REGION", REGION),
            ("AWS_DEFAULT_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ):
            patch.setenv(name, value)
        session = boto3.session.Session()
        s3, sqs, sns = (session.client(name) for name in ("s3", "sqs", "sns"))
        yield s3, sqs, sns, S3Objects()


@pytest.fixture
def chain(
    server: S3Server, tmp_path: Path, clients: tuple[Any, Any, Any, S3Objects]
) -> Iterator[Chain]:
    bucket, uploads = server.new_bucket(), server.new_bucket()
    options = server.storage_options()
    lake = open_lake(f"s3://{bucket}/lake", create=True, **options)
    storage = open_index(f"sqlite:///{tmp_path}/index.db")
    yield Chain(server, lake, bucket, uploads, storage, *clients)
    storage.close()
