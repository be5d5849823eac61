"""A secret that is given to a run is in nothing that the run writes.

It is planted where people put it: in a file of settings, in an option, in the environment. Then
every command runs with its log at its most talkative, and everything is searched: the objects in
the bucket, what was printed, and every file below the folders that a process may write to.
"""

from __future__ import annotations

import base64
import gzip
import json
import pickle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from singerlake.store import Store, open_store
from tests.faults.hostile_secrets import (
    SAMPLE,
    SECRET,
    SUITE,
    TAP,
    TOKEN,
    Run,
    environment,
    leaks,
    objects,
    options,
)
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.servers import S3Server
from tests.target.driving import patched

THIS = "tests/faults/test_hostile_secrets.py"


COMMANDS = (
    ("ls",),
    ("show", TAP, "orders"),
    ("cat", TAP, "orders"),
    ("diff", TAP, "orders"),
    ("log",),
    ("du",),
    ("rebuild",),
    ("restore",),
    ("vacuum", "--apply", "--here"),
    ("vacuum", "--purge"),
    ("annotate", TAP, "--owner", "the shop's people"),
    ("check", "--fix"),
    ("check",),
    ("doctor",),
)


def everything(run: Run, root: str, settings: tuple[str, ...], config: tuple[str, ...]) -> None:
    """Land, replay, look, mend and publish; then the same with what fails."""
    assert run("target_singerlake", *config, given=SAMPLE.read_bytes()) == 0
    assert run("tap_singerlake", *config) == 0
    for words in scaled(COMMANDS[::2] if settings else COMMANDS[-2:], COMMANDS):
        code = run("singerlake.cli", "-v", words[0], root, *words[1:], *settings)
        assert code in (0, 1), list(run.printed.values())[-1]
    out = str(run.folder / "site")
    assert run("singerlake.cli", "-v", "site", "build", root, "--out", out, *settings) == 0
    nowhere = root.replace("//", "//no-such-")
    assert run("singerlake.cli", "-v", "ls", nowhere, *settings) != 0


def refused(run: Run, server: S3Server, folder: Path, place: str) -> None:
    """The same credentials at a server that does not know them: its answer names the key."""
    bucket = f"s3://{server.new_bucket()}/lake"
    settings: tuple[str, ...] = ()
    if place == "settings":
        (folder / "wrong.json").write_text(json.dumps(options(server)))
        settings = ("--storage-options", f"@{folder / 'wrong.json'}")
        body = {"lake_root": bucket, "tap_id": TAP, "storage_options": options(server)}
    else:
        run.env["AWS_ENDPOINT_URL"] = server.endpoint
        body = {"lake_root": bucket, "tap_id": TAP}
    (folder / "wrong-config.json").write_text(json.dumps(body))
    config = ("--config", str(folder / "wrong-config.json"))
    for code in (
        run("singerlake.cli", "-v", "ls", bucket, *settings),
        run("target_singerlake", *config, given=SAMPLE.read_bytes()),
        run("tap_singerlake", *config),
    ):
        assert code != 0
        told = list(run.printed.values())[-1]
        assert b"PermissionDenied" in told, told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", ["settings", "environment"])
def test_a_planted_secret_is_in_nothing_that_a_run_writes(
    moto_server: S3Server, seaweedfs: S3Server, tmp_path: Path, place: str
) -> None:
    bucket = moto_server.new_bucket()
    root = f"s3://{bucket}/lake"
    row = Line(SUITE, f"planted in the {place}", THIS)
    body: dict[str, Any] = {"lake_root": root, "tap_id": TAP}
    settings: tuple[str, ...] = ()
    env = environment(moto_server)
    if place == "settings":
        body["storage_options"] = options(moto_server)
        (tmp_path / "options.json").write_text(json.dumps(options(moto_server)))
        settings = ("--storage-options", f"@{tmp_path / 'options.json'}")
        env = {}
    (tmp_path / "config.json").write_text(json.dumps(body))
    run = Run(tmp_path / "run", env)
    everything(run, root, settings, ("--config", str(tmp_path / "config.json")))
    refused(run, seaweedfs, tmp_path, place)
    for where, data in (*run.written(), *objects(moto_server, bucket)):
        row.runs += 1
        assert leaks(data) == [], where
        assert leaks(where.encode()) == [], where
    assert row.runs > 20
    row.faults = 1
    row.keep()


TALKATIVE = """
import logging
from singerlake.store import s3
make = s3.S3Store.__init__
def tell(self, url, options=None, *more, **named):
    logging.getLogger("singerlake").warning("options: %s", options)
    make(self, url, options, *more, **named)
s3.S3Store.__init__ = tell
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_control_a_target_that_logs_its_options_is_seen(
    moto_server: S3Server, tmp_path: Path
) -> None:
    row = Line(SUITE, "control: a target that logs its options", f"{THIS} -k control", runs=1)
    root = f"s3://{moto_server.new_bucket()}/lake"
    body = {"lake_root": root, "tap_id": TAP, "storage_options": options(moto_server)}
    (tmp_path / "config.json").write_text(json.dumps(body))
    run = Run(tmp_path / "run", {"PYTHONPATH": str(Path.cwd())})
    config = ("--config", str(tmp_path / "config.json"))
    assert run.command(patched(TALKATIVE), *config, given=SAMPLE.read_bytes()) == 0, run.printed
    row.control(any(leaks(data) for _, data in run.written()))


def test_control_each_form_of_a_secret_is_seen() -> None:
    row = Line(SUITE, "control: forms of a secret", f"{THIS} -k control", runs=1)
    whole = b"before " + SECRET.encode() + b" after"
    for form in (
        whole,
        gzip.compress(whole),
        base64.b64encode(b"x:" + SECRET.encode()),
        quote(TOKEN).encode(),
    ):
        row.control(bool(leaks(form)), form)


PROFILE = {"profile": "lake"}


def test_no_pickle_of_a_store_has_the_secret(
    moto_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is from: the environment, a profile, or the options word for word."""
    row = Line(SUITE, "pickles of stores", THIS, faults=1)
    for name, value in environment(moto_server).items():
        monkeypatch.setenv(name, value)
    root = f"s3://{moto_server.new_bucket()}/lake"
    profile = f"[lake]\naws_access_key_id=planted\naws_secret_access_key={SECRET}\n"
    (tmp_path / "credentials").write_text(f"{profile}aws_session_token={TOKEN}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for more in ({}, {"anon": False}, PROFILE, options(moto_server)):
        store = open_store(root, more)
        store.promise()
        assert leaks(pickle.dumps(store)) == []
        assert leaks(repr(store).encode()) == []
        copy: Store = pickle.loads(pickle.dumps(store))
        assert copy.folders("") == store.folders("")
        row.runs += 1
    row.keep()


def test_control_a_store_that_keeps_its_options_is_seen(
    moto_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Line(SUITE, "control: a store that keeps its options", f"{THIS} -k control", runs=1)
    monkeypatch.setattr("singerlake.store.s3_requests.seal", dict)
    store = open_store("s3://bucket/lake", options(moto_server))
    row.control(bool(leaks(pickle.dumps(store))))
