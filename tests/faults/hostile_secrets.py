"""A planted secret, the processes that are given it, and the search for it in what they write."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.servers import REGION, S3Server

SECRET = "planted/Secret+7kQ2mX9vR4"
TOKEN = "planted.Token=5hT8wZ1cB6nL3"
TAP = "tap-shop--sample"
SAMPLE = Path(__file__).parents[2] / "singerlake" / "cli" / "shop.singer"
SUITE = "Secrets"


def forms(secret: str) -> Iterator[bytes]:
    """The secret as it is, and as it may be written."""
    raw = secret.encode()
    yield raw
    yield raw.hex().encode()
    yield quote(secret, safe="").encode()
    yield json.dumps(secret)[1:-1].replace("/", "\\/").encode()
    for shift in range(3):  # base64 of it inside something longer
        text = base64.b64encode(b"\0" * shift + raw)
        yield text[4 if shift else 0 : -4]


def leaks(data: bytes) -> list[bytes]:
    """What of them is in these bytes, or in what they are when they are decompressed."""
    parts = [data, gzip.decompress(data)] if data.startswith(b"\x1f\x8b") else [data]
    return [
        form for secret in (SECRET, TOKEN) for form in forms(secret) if form in b"\0".join(parts)
    ]


def options(server: S3Server) -> dict[str, Any]:
    client = {"endpoint_url": server.endpoint, "region_name": REGION}
    return {"key": "planted", "secret": SECRET, "token": TOKEN, "client_kwargs": client}


def environment(server: S3Server) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "planted",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_DEFAULT_REGION": REGION,
    }


class Run:
    """Processes whose every file is below one folder, but for the settings."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        folder.mkdir()
        own = {"HOME": str(folder), "TMPDIR": str(folder), "LOGLEVEL": "DEBUG"}
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**keep, **own, **env}
        self.printed: dict[str, bytes] = {}

    def __call__(self, module: str, *arguments: str, given: bytes = b"") -> int:
        return self.command([sys.executable, "-m", module], *arguments, given=given)

    def command(self, begin: list[str], *arguments: str, given: bytes = b"") -> int:
        command = [*begin, *arguments]
        done = subprocess.run(
            command, input=given, capture_output=True, env=self.env, cwd=self.folder, timeout=300
        )
        self.printed[f"{len(self.printed)}: {begin[-1]} {arguments}"] = done.stdout + done.stderr
        return done.returncode

    def written(self) -> Iterator[tuple[str, bytes]]:
        yield from self.printed.items()
        for path in self.folder.rglob("*"):
            if path.is_file():
                yield str(path), path.read_bytes()


def objects(server: S3Server, bucket: str) -> Iterator[tuple[str, bytes]]:
    """Every object in the bucket, by its key."""
    client = server.client()
    for row in client.list_objects_v2(Bucket=bucket)["Contents"]:
        yield row["Key"], client.get_object(Bucket=bucket, Key=row["Key"])["Body"].read()
