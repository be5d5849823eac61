"""The `datalake` client of PyPI, unchanged and in an environment of its own, against our commands.

Its file of a lake, and files that it pushes itself: list, latest, fetch, cat, push.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from tests.index.api.ground import TAP, WHAT, build
from tests.index.api.process import running
from tests.plugins.venvs import environment
from tests.servers import KEY, REGION, SECRET, S3Server

REQUIREMENTS = Path(__file__).parent / "datalake.txt"
DAY = ("--start", "2026-03-02", "--end", "2026-03-03")

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Client:
    program: Path
    settings: dict[str, str]
    folder: Path

    def run(self, *arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **self.settings},
            capture_output=True,
            text=True,
            check=False,
        )

    def said(self, *arguments: Any) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def client(moto_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("client")
    program = environment(REQUIREMENTS, "datalake") / "bin" / "datalake"
    aws = {
        "AWS_ENDPOINT_URL": moto_server.endpoint,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in aws.items():
            patch.setenv(name, value)
        bucket, queue = _notifying_bucket(moto_server)
    _, storage = build(folder)
    storage.close()
    uploads = f"s3://{bucket}"
    index = ("--index", f"sqlite:///{folder}/index.db", "--listen", "127.0.0.1:0")
    both = (folder / "lake", *index, "--uploads", uploads)
    with (
        running("index", "ingest", *both, "--queue", queue, environment=aws),
        running("index", "serve", *both, environment=aws) as api,
    ):
        # With a region the client insists on the endpoint of AWS itself.
        settings = {name: value for name, value in aws.items() if "REGION" not in name}
        settings |= {"DATALAKE_STORAGE_URL": uploads, "DATALAKE_HTTP_URL": api.url}
        yield Client(program, settings, folder)


def _notifying_bucket(server: S3Server) -> tuple[str, str]:
    bucket = server.new_bucket()
    sqs = boto3.session.Session().client("sqs")
    queue: str = sqs.create_queue(QueueName=f"q-{uuid.uuid4().hex}")["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    configuration = {
        "QueueArn": found["Attributes"]["QueueArn"],
        "Events": ["s3:ObjectCreated:*"],
    }
    server.client().put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [configuration]}
    )
    return bucket, queue


def test_list_fetch_and_cat_of_a_lake(client: Client) -> None:
    urls = client.said("list", WHAT, *DAY).split()
    assert len(urls) == 7
    found = json.loads(
        client.said("list", WHAT, "--where", TAP, "--work-id", "_x52un_x2f2", "--format", "json")
    )
    assert found["http_url"] == urls[-1]
    for url, ids in ((urls[0], [0, 1]), (urls[-1], [12, 13])):  # merged, and of its own
        name = client.said("fetch", url).strip()
        lines = [json.loads(line) for line in (client.folder / name).read_text().splitlines()]
        assert lines[0]["type"] == "SCHEMA"
        assert [line["record"]["id"] for line in lines[1:]] == ids
    assert '"record": {"id": 13}' in client.said("cat", urls[-1])


def test_names_that_are_no_slugs(client: Client) -> None:
    """`fetch` and `cat` validate slugs."""
    (url,) = client.said("list", "_x42ig_x2f_x4frders", *DAY).split()
    assert '"stream": "Big/Orders"' in client.said("cat", url)


def test_more_than_a_page(client: Client) -> None:
    urls = client.said("list", "many", "--start", "0", "--end", "now").split()
    assert len(urls) == len(set(urls)) > 200


def test_what_is_not_there(client: Client) -> None:
    """Every 404 must be JSON, or its client crashes."""
    done = client.run("latest", "nothing", "nowhere")
    assert done.returncode != 0
    assert "NoSuchFile" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    done = client.run("list", "nothing")
    assert "NoWorkInterval" in done.stdout + done.stderr


def test_push_latest_fetch_and_cat(client: Client) -> None:
    source = client.folder / "syslog"
    source.write_text("pushed\n")
    facts = ("--what", "syslog", "--where", "host-1", "--start", "now", "--end", "now")
    pushed = client.said("push", *facts, source).split()[-1]
    assert pushed.startswith("s3://")
    until = time.monotonic() + 120
    newest = f"{client.settings['DATALAKE_HTTP_URL']}/v0/archive/latest/syslog/host-1"
    while httpx.get(newest).status_code == 404:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert client.said("latest", "syslog", "host-1").strip() == pushed
    name = client.said("fetch", pushed).strip()
    assert (client.folder / name).read_text() == "pushed\n"
    over_http = client.said("latest", "syslog", "host-1", "--format", "http").strip()
    assert "pushed" in client.said("cat", over_http)
