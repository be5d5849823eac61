"""The command line as a whole: help, roots, options, exit codes, and a quick start."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from singerlake import open_lake
from singerlake.cli import main
from singerlake.cli.commands import COMMANDS as COMMAND_HELP
from singerlake.cli.storage_options import options_of
from tests.cli.lake import TAP, run, said, told
from tests.servers import S3Server
from tests.target.driving import environment

TOP = click.Context(main, info_name="singerlake")
COMMANDS = main.list_commands(TOP)
WITHOUT_JSON = {
    *("completion", "events", "help", "index", "land", "lineage", "lineage dead", "process"),
    *("process dead", "process run", "site"),
}
"""Groups, and what prints for people or programs of its own."""


def every(group: click.Group, context: click.Context) -> Iterator[str]:
    """All commands, and those within them: `site`, `site build` …"""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, context, info_name=name)
        yield inner.command_path.removeprefix("singerlake ")
        if isinstance(command, click.Group):
            yield from every(command, inner)


@pytest.mark.parametrize("path", [*every(main, TOP)])
def test_help_teaches_by_example_and_points_to_the_exit_codes(path: str) -> None:
    shown = said(*path.split(), "--help")
    assert "Examples:" in shown
    assert f"  singerlake {path}" in shown.partition("Examples:")[2] or path == "completion"
    assert "`singerlake help exit-codes` lists the exit codes." in shown
    assert "all is well" not in shown
    assert ("--json " in shown) == (path not in WITHOUT_JSON)


@pytest.mark.parametrize("path", [*every(main, TOP)])
def test_every_option_says_what_it_does(path: str) -> None:
    command: click.Command | None = main
    for name in path.split():
        assert isinstance(command, click.Group)
        command = command.get_command(TOP, name)
    assert command is not None
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


def test_the_list_of_commands_says_what_each_says_itself() -> None:
    """It is told without loading any of them."""
    listed = said("--help")
    for name in COMMANDS:
        command = main.get_command(TOP, name)
        assert command is not None
        assert COMMAND_HELP[name] == (command.help or "").partition("\n")[0]
        assert COMMAND_HELP[name] in listed


APPLIED = ("forget", "rebuild", "restore", "vacuum")


def test_the_help_says_what_changes_something_only_if_asked_to() -> None:
    for name in COMMANDS:
        assert ("--apply " in said(name, "--help")) == (name in APPLIED)
    shown = " ".join(said("--help").split())
    assert (
        "`rebuild`, `restore`, `vacuum` and `forget` only report what they would do, until" in shown
    )


def test_the_list_of_commands_tells_each_in_a_whole_sentence() -> None:
    listed = said("--help").partition("Commands:")[2]
    assert "..." not in listed
    assert [line.split()[0] for line in listed.partition("\n\n")[0].splitlines()[1:]] == COMMANDS


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ls", "nowhere"), "NotALake"),
        (("ls", "foo://bucket"), "BadLocation"),
        (("show", "LAKE", TAP, "nothing"), "UnknownStream"),
        (("ls", "LAKE", "tap-nobody"), "UnknownTap"),
        (("ls", "LAKE", "-o", "novalue"), "KEY=VALUE"),
        (("ls", "LAKE", "--storage-options", "{secret"), "not JSON"),
        (("ls", "LAKE", "--storage-options", "[1]"), "not a JSON object"),
        (("ls", "LAKE", "--storage-options", "@nowhere.json"), "No such file"),
        (("ls", "LAKE", "--storage-options", "[" * 20_000), "not JSON"),
        (("ls", "LAKE", "--storage-options", "@~nobody-of-this-name/x"), "home"),
        (("ls",), "Missing argument ROOT"),
        (("show",), "Missing argument ROOT"),
        (("show", "LAKE"), "Missing argument TAP"),
        (("show", "LAKE", TAP), "Missing argument STREAM"),
        (("annotate", "LAKE"), "Missing argument TAP"),
    ],
)
def test_wrong_use_gets_one_clear_line_and_exit_code_two(
    built: Path, arguments: tuple[str, ...], says: str
) -> None:
    result = run(*(str(built) if word == "LAKE" else word for word in arguments))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.output
    assert "{secret" not in result.output


def test_the_root_may_come_from_the_environment(built: Path) -> None:
    variables = {"SINGERLAKE_ROOT": str(built)}
    assert said("ls", **variables) == said("ls", built)
    assert said("show", TAP, "orders", **variables) == said("show", built, TAP, "orders")
    assert said("show", built, TAP, "orders", SINGERLAKE_ROOT="elsewhere")
    short = run("show", TAP, **variables)
    assert (short.exit_code, "Missing argument STREAM" in short.stderr) == (2, True)


def test_one_word_after_ls_is_a_tap_where_the_root_is_known(built: Path, tmp_path: Path) -> None:
    variables = {"SINGERLAKE_ROOT": str(built)}
    assert said("ls", TAP, **variables) == said("ls", built, "--tap", TAP)
    assert said("ls", built, TAP, SINGERLAKE_ROOT=str(tmp_path)) == said("ls", built, TAP)
    assert said("ls", built, SINGERLAKE_ROOT=str(tmp_path)) == said("ls", built)
    unknown = run("ls", "tap-nobody", **variables)
    assert (unknown.exit_code, "UnknownTap" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("12345", "12345"),
        ("1e5", "1e5"),
        ("NaN", "NaN"),
        ('"quoted"', '"quoted"'),
        ("{broken", "{broken"),
        pytest.param("[" * 20_000, "[" * 20_000, id="deep"),
        ("", ""),
        ("a=b", "a=b"),
        ("true", True),
        ("null", None),
        ('{"region_name": "x"}', {"region_name": "x"}),
        ("[1]", [1]),
    ],
)
def test_a_credential_given_as_an_option_stays_text(given: str, value: object) -> None:
    assert options_of(None, (f"secret={given}",)) == {"secret": value}


def test_storage_options_come_from_the_environment_or_a_file(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "options.json"
    file.write_text('{"key": "top-secret"}')
    for given in ('{"key": "top-secret"}', f"@{file}"):
        by_variable = run("ls", built, SINGERLAKE_STORAGE_OPTIONS=given)
        by_option = run("ls", built, "--storage-options", given)
        for result in (by_variable, by_option):
            assert result.exit_code == 2
            assert "takes no storage_options (key)" in result.stderr
            assert "top-secret" not in result.output


def test_a_lake_in_a_bucket_is_reached_by_a_file_of_options(
    moto_server: S3Server, tmp_path: Path
) -> None:
    url = f"s3://{moto_server.new_bucket()}/lake"
    file = tmp_path / "options.json"
    file.write_text(json.dumps(moto_server.storage_options()))
    with open_lake(url, create=True, **moto_server.storage_options()).writer(TAP) as writer:
        writer.write(b'{"type": "SCHEMA", "stream": "orders", "schema": {}}')
        writer.write(b'{"type": "RECORD", "stream": "orders", "record": {"id": 1}}')
    given = ("--storage-options", f"@{file}")
    assert told("ls", url, *given)["taps"][0]["records"] == 1
    assert said("cat", TAP, "orders", *given, SINGERLAKE_ROOT=url) == '{"id": 1}\n'
    assert told("doctor", url, "--read-only", *given)["credentials"][:2] == [
        "storage option key",
        "storage option secret",
    ]


@pytest.mark.parametrize("command", [("singerlake.cli", "ls"), ("target_singerlake",)], ids=str)
def test_libraries_of_s3_log_no_more_than_the_log_level_says(
    moto_server: S3Server, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """botocore has an INFO line on where it found the credentials."""
    url = f"s3://{moto_server.new_bucket()}/lake"
    open_lake(url, create=True, **moto_server.storage_options())
    settings = tmp_path / "config.json"
    settings.write_text(json.dumps({"lake_root": url, "tap_id": TAP}))
    more = ("--config", str(settings)) if len(command) == 1 else (url,)
    done = subprocess.run(
        [sys.executable, "-m", *command, *more],
        env=environment(
            {
                "AWS_ACCESS_KEY_ID": moto_server.key,
                "AWS_SECRET_ACCESS_KEY": moto_server.secret,
                "AWS_ENDPOINT_URL": moto_server.endpoint,
                "LOGLEVEL": "WARNING",
            }
        ),
        input=b"",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["ls", "check", "rebuild", "vacuum", "du", "log"])
@pytest.mark.parametrize("pair", ["create=true", "url=x", "store=x"])
def test_storage_options_are_no_arguments_of_ours(tmp_path: Path, command: str, pair: str) -> None:
    result = run(command, tmp_path, "-o", pair)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)  # else a user would see a traceback
    assert "BadLocation" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_storage_options_of_the_wrong_kind_get_one_clear_line() -> None:
    result = run("ls", "s3://bucket", "-o", "client_kwargs=3")
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("Error: BadLocation: ")


def test_names_that_the_locale_does_not_hold_are_printed_all_the_same(built: Path) -> None:
    command = [sys.executable, "-m", "singerlake.cli", "show", str(built), TAP, "orders"]
    shown = subprocess.run(command, capture_output=True, env={"PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0, shown.stderr
    assert b"\\u2588" in shown.stdout


HEAVY = {
    "aiobotocore",
    "aiohttp",
    "botocore",
    "fsspec",
    "jinja2",
    "numpy",
    "pandas",
    "py4j",
    "pyarrow",
    "pyspark",
    "s3fs",
    "singer_sdk",
}


def test_it_starts_quickly() -> None:
    """Counted in modules, since clocks differ: half a second is good for several hundred."""
    modules = loaded_by(["--help"])
    assert not (HEAVY | {"msgspec", "rich"}) & {name.partition(".")[0] for name in modules}
    assert len(modules) < 200


def test_a_command_that_needs_no_more_imports_no_more(built: Path) -> None:
    modules = loaded_by(["ls", str(built)])
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert not {"singerlake.cli.show", "singerlake.cli.site"} & {*modules}
    assert len(modules) < 410


def loaded_by(arguments: list[str]) -> list[str]:
    code = (
        "import sys; from singerlake.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "print('MODULES', *sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return shown.stdout.rpartition("MODULES")[2].split()


def test_an_interrupt_is_no_finding(built: Path) -> None:
    """1 would say that problems were found."""
    stumbling = (
        "import sys, singerlake.cli.log as log\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "log.Root.lake = interrupted\n"
        "from singerlake.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", stumbling, "log", str(built)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 130
    assert "Interrupted." in ended.stderr
    assert "Traceback" not in ended.stderr


def test_json_of_every_look_is_json(built: Path) -> None:
    for arguments in (("ls",), ("du",), ("show", TAP, "orders"), ("diff", TAP, "orders")):
        command, *rest = arguments
        assert told(command, built, *rest)


def test_a_fault_of_ours_is_no_finding(monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """A nightly check that stumbles must not look like damage."""

    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("singerlake.cli.check.run_check", stumble)
    result = run("check", str(built))
    assert result.exit_code == 70
    assert "ZeroDivisionError: a bug" in result.stderr
    assert "please report it" in result.stderr


@pytest.mark.parametrize("words", [["ls"], ["check", "--tap", TAP], ["ls", "--json"]], ids=" ".join)
def test_a_closed_pipe_has_an_exit_code_of_its_own(built: Path, words: list[str]) -> None:
    """1 would say that problems were found."""
    command = [sys.executable, "-m", "singerlake.cli", words[0], str(built), *words[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written_is_told_in_one_line(built: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "singerlake.cli", words[0], str(built), *words[1:]]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (5, False)
    assert "the output cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--stale-after", "-5"],
        ["check", "--stale-after", "nan"],
        ["log", "--since", "9" * 5000],
        ["log", "--every", "0"],
        ["log", "--every", "inf"],
        ["log", "--every", "1e300"],
        ["log", "--every", "nan"],
        ["show", TAP, "orders", "--limit", "9" * 20],
        ["cat", TAP, "orders", "--limit", "9" * 20],
    ],
)
def test_numbers_that_mean_nothing_are_refused(built: Path, words: list[str]) -> None:
    assert run(words[0], built, *words[1:]).exit_code == 2
