"""The README, from top to bottom, on a real S3 server.

`make demo` and `make test` are what CI calls; `pip install` of this folder, and `meltano run`, have
their own tests (tests/meltano): that is how Meltano installs the plugins, with uv for pip.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path

import pytest

from tests.servers import REGION, S3Server

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
LAKE = "s3://bucket/lake"

TAP_GITHUB = """#!/bin/sh
test "$1 $2" = "--config tap.json" || exit 2
cat <<'END'
{"type":"SCHEMA","stream":"issues","schema":{"properties":{"id":{"type":"integer"},"state":{"type":"string"}}},"key_properties":["id"]}
{"type":"RECORD","stream":"issues","record":{"id":1,"state":"open"}}
{"type":"RECORD","stream":"issues","record":{"id":2,"state":"closed"}}
{"type":"SCHEMA","stream":"issues","schema":{"properties":{"id":{"type":"integer"},"state":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}}},"key_properties":["id"]}
{"type":"RECORD","stream":"issues","record":{"id":3,"state":"open","labels":["bug"]}}
{"type":"STATE","value":{"since":3}}
END
"""


def section(title: str, language: str) -> str:
    text = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    return str(block)


@pytest.fixture
def environment(tmp_path: Path, seaweedfs: S3Server) -> dict[str, str]:
    """As on a person's machine: credentials in the environment, a tap on the path."""
    bucket = seaweedfs.new_bucket()
    tap = tmp_path / "bin" / "tap-github"
    tap.parent.mkdir()
    tap.write_text(TAP_GITHUB, encoding="utf-8")
    tap.chmod(0o755)
    return {
        **os.environ,
        "PATH": os.pathsep.join(
            (str(tap.parent), sysconfig.get_path("scripts"), os.environ["PATH"])
        ),
        "AWS_ACCESS_KEY_ID": seaweedfs.key,
        "AWS_SECRET_ACCESS_KEY": seaweedfs.secret,
        "AWS_ENDPOINT_URL": seaweedfs.endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "BROWSER": "true",
        "COLUMNS": "200",
        "BUCKET": f"s3://{bucket}/lake",
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_readme_works(tmp_path: Path, environment: dict[str, str]) -> None:
    lake = environment["BUCKET"]

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command.replace(LAKE, lake)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    _, show, config, land = section("Land, on S3", "console").splitlines()
    assert show == "$ cat target.json"
    (tmp_path / "target.json").write_text(config.replace(LAKE, lake), encoding="utf-8")
    run(land.removeprefix("$ "))
    assert (tmp_path / "states.jsonl").read_text() == '{"since":3}\n'
    run("singerlake doctor s3://bucket/lake")

    look_after = section("Look after it", "console").splitlines()
    *commands, serve = (line.removeprefix("$ ").partition("#")[0].strip() for line in look_after)
    listed, runs, found, differences, pinned, checked, restored, merged = (
        run(command) for command in commands
    )
    assert "tap-github--meltanolabs" in listed
    assert "complete" in runs
    assert found.startswith(f"{lake}/raw/tap-github--meltanolabs/issues/")
    assert "labels" in differences
    assert "before-migration" in pinned
    assert "0 errors, 0 leftovers" in checked
    assert "0 of which did not agree" in restored
    assert "--apply" in merged
    assert_served(serve.replace(LAKE, lake), environment)

    (tmp_path / "load.py").write_text(
        section("In Spark, and in Python", "python").replace(LAKE, lake), encoding="utf-8"
    )
    printed = run(f"{sys.executable} load.py")
    assert "|closed|    1|" in printed
    assert "{'id': 3, 'state': 'open', 'labels': ['bug']}" in printed


def assert_served(command: str, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        command.split(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            said = next(line for line in server.stdout if "http://" in line)
            address = re.search(r"http://[^\s]+", said)
            assert address
            with urllib.request.urlopen(address[0], timeout=30) as page:
                assert "tap-github--meltanolabs" in page.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
