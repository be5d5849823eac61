"""What the how-to guides and the operations pages tell people to run, as far as it can run here."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from singerlake import Lake, check, open_lake
from singerlake.files import entries, open_file
from singerlake.lake.restoring import restore
from singerlake.store import DryRun
from tests.servers import S3Server

DOCS = Path(__file__).parents[2] / "docs"
TAP = "tap-github--meltanolabs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commit(lake: Lake, number: int) -> None:
    with lake.writer(TAP) as writer:
        writer.write(b'{"type":"SCHEMA","stream":"issues","schema":{"type":"object"}}')
        writer.write(b'{"type":"RECORD","stream":"issues","record":{"id":%d}}' % number)
        writer.commit()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = open_lake(tmp_path / "lake", create=True)
    commit(made, 1)
    return made


def run(script: str, lake: Lake) -> str:
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{script}"],
        env={
            "PATH": f"{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin:/bin",
            "SINGERLAKE_ROOT": lake.store.url,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_queries_of_the_guide_to_sql(tmp_path: Path) -> None:
    lake = open_lake(tmp_path / "lake", create=True)
    properties = {"id": {"type": "integer"}, "state": {"type": "string"}}
    schema = {"type": "SCHEMA", "stream": "issues", "schema": {"properties": properties}}
    with lake.writer(TAP) as writer:
        writer.write(json.dumps(schema | {"key_properties": ["id"]}).encode())
        writer.write(b'{"type":"RECORD","stream":"issues","record":{"id":1,"state":"open"}}')
    for script in blocks("how-to/sql.md", "sh"):
        run(f"cd {tmp_path}\n{script}", lake)
    assert (tmp_path / "issues.csv").read_text() == '"id","state"\n1,"open"\n'


def test_what_the_guide_to_files_finds(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = tmp_path.rglob("*.singer.gz")
    by_command, with_an_index = blocks("how-to/find.md", "sh")
    found = run(by_command, lake)
    assert found.count(f"{file}\n") == 2  # by name, and the latest
    assert run(f"cd {tmp_path}\n{with_an_index}", lake).count(f"{file}\n") == 1
    script = blocks("how-to/find.md", "python")[1]
    exec(script.replace("./lake", lake.store.url), {})
    assert capsys.readouterr().out == f"{TAP} 1 {file.relative_to(lake.store.url)}\n"


def test_the_guide_to_files(lake: Lake, tmp_path: Path) -> None:
    around, forgotten = blocks("how-to/files.md", "sh")
    python, _ = blocks("how-to/files.md", "python")
    printed = run(f"cd {tmp_path}\n{around}", lake)
    assert "from a pipe" in printed
    done = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert [path.name.endswith("-door.jpg") for path in (tmp_path / "out").iterdir()] == [True] * 2
    assert "1 file forgotten" in run(f"cd {tmp_path}\n{forgotten}", lake)
    assert check(lake.store).clean


def test_what_the_guide_to_files_has_a_tap_send(tmp_path: Path) -> None:
    lines, settings = blocks("how-to/files.md", "json")
    (tmp_path / "7.pdf").write_bytes(b"an invoice")
    config = json.loads(settings)
    config |= {"lake_root": str(tmp_path / "lake"), "staged_files": str(tmp_path)}
    (tmp_path / "config.json").write_text(json.dumps(config))
    subprocess.run(
        [sys.executable, "-m", "target_singerlake", "--config", tmp_path / "config.json"],
        input=lines.replace("/var/staged", str(tmp_path)).encode(),
        check=True,
    )
    stream = open_lake(tmp_path / "lake").stream(config["tap_id"], "invoices")
    (entry,) = entries(stream)
    assert open_file(stream, entry.path).read() == b"an invoice"


def test_the_consumer_of_the_guide_to_commits_acts_once_over_a_kill(
    lake: Lake, tmp_path: Path
) -> None:
    follow, read = blocks("how-to/react.md", "python")
    follow = follow.replace("./lake", lake.store.url).replace(
        ").feed(", ").feed(options=OFTEN, cursor="
    )
    script = f"from singerlake import FeedOptions\nOFTEN = FeedOptions(0.05, 0.05)\n{follow}"
    for number in (2, 3, 4):
        commit(lake, number)
        consumer = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
        try:
            wait_for(partial(has_commits, tmp_path, number))
        finally:
            consumer.kill()
            consumer.wait()
    assert commits_in(tmp_path) == [(TAP, "issues", number) for number in (1, 2, 3, 4)]
    done = subprocess.run(
        [sys.executable, "-c", read.replace("./lake", lake.store.url)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "sequence=4" in done.stdout


def commits_in(folder: Path) -> list[tuple[str, str, int]]:
    """None before the table is there."""
    opened = contextlib.closing(sqlite3.connect(folder / "commits.db"))
    with contextlib.suppress(sqlite3.OperationalError), opened as database:
        return database.execute("select tap, stream, sequence from commits").fetchall()
    return []


def has_commits(folder: Path, count: int) -> bool:
    return len(commits_in(folder)) == count


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_from_raw_to_tables(tmp_path: Path) -> None:
    """On the lake of `singerlake demo`, whose orders have what the page asks for."""
    lake = open_lake(tmp_path / "lake", create=True)
    shutil.rmtree(tmp_path / "lake")
    run(f"singerlake demo {lake.store.url}", lake)
    look, check_it, compared = (
        run(f"cd {tmp_path}\n{script.partition('psql')[0]}", lake)
        for script in blocks("how-to/raw-to-tables.md", "sh")
    )
    assert "published" in look
    assert "count_star()" in check_it
    assert "sum(total)" in compared


@pytest.mark.skipif(
    shutil.which("jq") is None or sys.platform != "linux", reason="needs jq and GNU date"
)
def test_watching(lake: Lake) -> None:
    scripts = [script for script in blocks("how-to/watch.md", "sh") if not script.startswith("0 ")]
    assert len(scripts) == 3
    late, whole, cheap = (run(script, lake) for script in scripts)
    assert late == ""
    assert whole == "true\n"
    assert json.loads(cheap)["objects"] > 0


def test_watching_in_python(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = blocks("how-to/watch.md", "python")
    exec(script.replace("s3://bucket/lake", lake.store.url), {})
    assert capsys.readouterr().out == "True []\n"


def test_annotating(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = blocks("how-to/annotate.md", "sh")
    shown = run(script.replace("s3://bucket/lake", lake.store.url), lake)
    assert "personal-data" in shown
    (script,) = blocks("how-to/annotate.md", "python")
    exec(script.replace("s3://bucket/lake", lake.store.url), {})
    assert capsys.readouterr().out == "the web team\n"


def test_pinning(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pin, read, unpin = blocks("how-to/pins.md", "sh")
    shown = run(pin, lake)
    assert "audit" in shown
    commit(lake, 2)
    assert '"id":2' not in run(f"cd {tmp_path}\n{read}", lake)
    run(unpin, lake)
    (script,) = blocks("how-to/pins.md", "python")
    exec(script.replace("./lake", lake.store.url), {})
    assert capsys.readouterr().out.endswith("['audit', 'monday']\n")


@pytest.mark.parametrize("page", ["how-to/vacuum.md", "operations/recovery.md"])
def test_commands_are_those_there_are(page: str, lake: Lake) -> None:
    """With what only one machine can do, and what needs Spark, left out."""
    for line in "".join(blocks(page, "sh")).splitlines():
        if line.startswith("singerlake") and "spark://" not in line:
            command = line.partition("#")[0].replace("s3://bucket/lake", lake.store.url)
            run(command.replace("TAP", TAP).replace("STREAM", "issues"), lake)


def test_copying_a_lake_that_is_being_written(lake: Lake, tmp_path: Path) -> None:
    commands = "".join(blocks("how-to/move.md", "sh")).replace("\\\n", " ").splitlines()
    catalogues, manifests, files = (line for line in commands if "s3://backup/lake" in line)
    source, target = Path(lake.store.url), tmp_path / "backup"
    sync(source, target, catalogues)
    commit(lake, 2)
    sync(source, target, manifests)
    commit(lake, 3)
    sync(source, target, files)
    copy = open_lake(target)
    assert {finding.code for finding in check(copy.store).findings} == {"orphan-file"}
    assert [one.state for one in restore(DryRun(copy.store)).streams] == ["newer files"]
    assert restore(copy.store).adopted
    assert check(copy.store).clean
    assert [row["id"] for row in copy.stream(TAP, "issues").snapshot().records()] == [1, 2, 3]


def sync(source: Path, target: Path, command: str) -> None:
    """As `aws s3 sync` does: of the filters that match, the last one counts."""
    words = shlex.split(command)
    filters = [(words[n], words[n + 1]) for n, word in enumerate(words) if word.endswith("clude")]
    for path in sorted(source.rglob("*")):
        key = path.relative_to(source).as_posix()
        hits = [kind for kind, pattern in filters if fnmatch.fnmatchcase(key, pattern)]
        if path.is_file() and not (hits and hits[-1] == "--exclude"):
            (target / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / key)


def test_the_rule_for_old_versions_is_one_that_s3_takes(moto_server: S3Server) -> None:
    page = (DOCS / "operations" / "lifecycle.md").read_text(encoding="utf-8")
    match = re.search(r"<!-- lifecycle -->\n```json\n(.*?)```", page, re.S)
    assert match
    rules: dict[str, Any] = json.loads(match[1])
    client, bucket = moto_server.client(), moto_server.new_bucket()
    versioning = {"Status": "Enabled"}
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=versioning)
    client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration=rules)
    found = client.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert found[0]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}


def test_a_lake_works_on_a_versioned_bucket(moto_server: S3Server) -> None:
    client, bucket = moto_server.client(), moto_server.new_bucket()
    versioning = {"Status": "Enabled"}
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=versioning)
    lake = open_lake(f"s3://{bucket}/lake", create=True, **moto_server.storage_options())
    for number in range(3):
        commit(lake, number)
    assert check(lake.store).clean
    versions = client.list_object_versions(Bucket=bucket)
    manifests = [row for row in versions["Versions"] if row["Key"].endswith("manifest.json")]
    assert len(manifests) == 4, "the page says that a commit leaves one"
    locks = [row for row in versions["DeleteMarkers"] if row["Key"].endswith(".lock")]
    assert len(locks) == 3
