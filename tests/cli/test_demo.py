"""`demo`: a first look, from what the package brings."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from singerlake.cli.demo import TAP, sample
from tests.cli.lake import run, said, told


def test_it_lands_the_sample_and_looks_around(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    shown = said("demo", root)
    for command in ("ls", "show", "diff"):
        assert f"$ singerlake {command} {root}" in shown
    assert "products" in shown
    assert "+  currency" in shown
    assert told("check", root)["clean"]
    assert told("show", root, TAP, "orders")["records"] == 12
    (landing,) = told("runs", root)["runs"]
    assert (landing["outcome"], landing["records"]) == ("complete", 20)
    said("wait", root, f"{TAP}/orders", "--since", "2026-01-01", "--timeout", "5s")


def test_what_it_tells_to_type_can_be_typed(tmp_path: Path) -> None:
    root = tmp_path / "my lake; $(date)"
    printed = said("demo", root)
    typed = [line.partition("singerlake ")[2] for line in printed.splitlines()]
    commands = [shlex.split(line) for line in typed if str(tmp_path) in line]
    assert [words[0] for words in commands] == ["ls", "show", "diff", "cat", "site"]
    assert all(str(root) in words for words in commands)
    *_, cat, site = commands
    assert len(said(*cat).splitlines()) == 12
    assert site[:2] == ["site", "serve"]


SCRIPT = Path(__file__).parents[2] / "sample" / "demo.sh"


@pytest.mark.parametrize("screen", ["pipe", "terminal", "terminal with NO_COLOR"])
def test_the_script_has_colours_for_terminals_only(screen: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("singerlake", "target-singerlake", "tap-singerlake", "python", "grep"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    env = {"PATH": f"{programs}:/usr/bin:/bin"}
    if "NO_COLOR" in screen:
        env["NO_COLOR"] = "1"
    reader, writer = os.pipe() if screen == "pipe" else pty.openpty()
    script = subprocess.Popen(
        ["bash", SCRIPT, tmp_path / "demo"], stdout=writer, env=env, cwd=SCRIPT.parents[1]
    )
    os.close(writer)
    printed = b""
    with suppress(OSError):  # a terminal ends so
        while block := os.read(reader, 1 << 16):
            printed += block
    os.close(reader)
    assert script.wait() == 0
    assert b"singerlake ls" in printed
    assert (b"\x1b" in printed) == (screen == "terminal")


def test_json_tells_where_it_is(tmp_path: Path) -> None:
    assert told("demo", tmp_path / "demo") == {
        "root": str(tmp_path / "demo"),
        "tap_id": TAP,
        "files": 4,
    }


def test_what_is_in_the_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = run("demo", tmp_path)
    assert (result.exit_code, "not empty" in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SINGERLAKE_ROOT", "/elsewhere"), ("SINGERLAKE_STORAGE_OPTIONS", '{"key": "k"}')],
)
def test_what_the_environment_tells_of_another_lake_is_nothing_to_it(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = said("demo", **{variable: value})
    [cat] = [line for line in printed.splitlines() if "singerlake cat" in line]
    words = shlex.split(cat.partition("singerlake ")[2])
    assert len(said(*words, **{variable: value}).splitlines()) == 12


def test_a_folder_that_cannot_be_is_wrong_use() -> None:
    result = run("demo", "x" * 300)
    assert (result.exit_code, "File name too long" in result.stderr) == (2, True)


def test_the_sample_has_several_streams_and_two_versions() -> None:
    schemas = [line for line in sample() if b'"SCHEMA"' in line]
    assert len(schemas) == 4
