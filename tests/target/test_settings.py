"""Settings: what `--about` says of them, where they come from, and what is wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from singerlake.format.keys import LAKE_DOCUMENT
from tests.servers import S3Server, free_ports
from tests.target.driving import (
    COMMAND,
    PATHS,
    TAP_ID,
    assert_clean,
    environment,
    files,
    lake,
    land,
    numbers,
    patched,
    record,
    records,
    run,
    schema,
    shell,
    state,
)

pytestmark = pytest.mark.usefixtures("door")

LINES = [schema("s"), record("s", 1), state({"at": 1})]

SETTINGS = {
    "lake_root",
    "lineage",
    "tap_id",
    "staged_files",
    "storage_options",
    "max_file_bytes",
    "max_file_records",
    "commit_interval_seconds",
    "complete_without_state",
    "compression_level",
    "lock_max_wait_seconds",
    "lock_stale_after_seconds",
    "require_keys",
    "validate_records",
    "add_record_metadata",
    "batch_config",
    "stream_maps",
    "stream_map_config",
    "faker_config",
    "flattening_enabled",
    "flattening_max_depth",
    "flattening_max_key_length",
    "flattening_separator",
}


def output(*arguments: str) -> str:
    answer = subprocess.run(
        [*COMMAND, *arguments], env=environment(), capture_output=True, text=True, check=True
    )
    return answer.stdout


@pytest.fixture(scope="module")
def about() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(output("--about", "--format", "json"))
    return content


def test_about_lists_every_setting_with_a_description(about: dict[str, Any]) -> None:
    properties = about["settings"]["properties"]
    assert properties.keys() == SETTINGS
    assert all(setting["description"].strip() for setting in properties.values())
    assert about["settings"]["required"] == ["lake_root"]
    secret = {name for name, setting in properties.items() if setting.get("secret")}
    assert secret == {"storage_options", "batch_config"}


@pytest.mark.parametrize("form", [[], ["--format=markdown"]])
def test_about_describes_every_setting_to_people(about: dict[str, Any], form: list[str]) -> None:
    text = " ".join(output("--about", *form).split())
    for name, setting in about["settings"]["properties"].items():
        assert name in text
        assert " ".join(setting["description"].split()) in text


def test_about_says_that_records_are_not_validated_and_why(about: dict[str, Any]) -> None:
    setting = about["settings"]["properties"]["validate_records"]
    assert setting["default"] is False
    assert "raw lake keeps what the tap sent" in setting["description"]


def test_about_names_the_capabilities(about: dict[str, Any]) -> None:
    assert set(about["capabilities"]) == {
        "about",
        "stream-maps",
        "schema-flattening",
        "batch",
        "activate-version",
        "structured-logging",
        "validate-records",
    }


def test_version_and_help() -> None:
    assert output("--version").startswith("target-singerlake")
    text = output("--help")
    assert all(option in text for option in ("--config", "--about", "--input", "--version"))


def test_the_input_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "input.singer"
    path.write_text("".join(line + "\n" for line in LINES))
    outcome = run([], tmp_path / "lake", arguments=["--input", str(path)])
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}'])
    assert numbers(tmp_path / "lake", "s") == [1]


def test_settings_come_from_the_environment_too(tmp_path: Path) -> None:
    env = {
        "TARGET_SINGERLAKE_LAKE_ROOT": str(tmp_path),
        "TARGET_SINGERLAKE_TAP_ID": TAP_ID,
        "TARGET_SINGERLAKE_MAX_FILE_RECORDS": "1",
        "TARGET_SINGERLAKE_COMMIT_INTERVAL_SECONDS": "7.5",
    }
    outcome = run(LINES, None, tap_id=None, env=env, arguments=["--config", "ENV"])
    assert outcome.code == 0, outcome.log
    assert numbers(tmp_path, "s") == [1]


def warnings(log: str) -> list[str]:
    return [line.split(" | ")[-1] for line in log.splitlines() if "| WARNING" in line]


def test_an_unknown_setting_is_warned_of_with_the_nearest_name(tmp_path: Path) -> None:
    outcome = run(LINES, tmp_path, compression_levl=3, colour="blue", load_method="upsert", _x=1)
    assert outcome.code == 0, outcome.log
    assert warnings(outcome.log) == [
        "The setting 'colour' is unknown, and is ignored.",
        "The setting 'compression_levl' is unknown, and is ignored. "
        "Did you mean 'compression_level'?",
    ]


def test_an_unknown_variable_is_warned_of_with_the_nearest_name(tmp_path: Path) -> None:
    prefix = "TARGET_SINGERLAKE_"
    values = {
        "LAKE_ROOT": str(tmp_path),
        "MAX_FILE_RECODS": "1",
        "LOGLEVEL": "INFO",
        "_DIALECT": "x",
        "HARD_DELETE": "true",
    }
    env = {prefix + name: value for name, value in values.items()}
    outcome = run(LINES, None, env=env, arguments=["--config", "ENV"])
    assert outcome.code == 0, outcome.log
    assert warnings(outcome.log) == [
        "The setting 'max_file_recods' is unknown, and is ignored. Did you mean 'max_file_records'?"
    ]


def test_known_settings_warn_of_nothing(tmp_path: Path) -> None:
    outcome = run(LINES, tmp_path, stream_maps={}, flattening_enabled=False, max_file_bytes=1)
    assert warnings(outcome.log) == []


def test_a_new_lake_is_reported_and_an_old_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "somebody's file").touch()
    created = f"Created a new lake at {tmp_path}"
    assert created in run(LINES, tmp_path).log
    assert "Created" not in run(LINES, tmp_path).log
    (tmp_path / LAKE_DOCUMENT).unlink()  # which the next run makes again, of what is there
    assert "Created" not in run(LINES, tmp_path).log


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("others", [0, 3], ids=["alone", "in a block"])
def test_a_record_without_its_key_is_kept_where_keys_are_not_required(
    tmp_path: Path, path: dict[str, Any], others: int
) -> None:
    bare = '{"type": "RECORD", "stream": "s", "record": {"name": "no key"}}'
    lines = [schema("s"), *(record("s", number) for number in range(others)), bare]
    outcome = run(lines, tmp_path, require_keys=False, **path)
    assert outcome.code == 0, outcome.log
    expected: list[dict[str, Any]] = [{"id": number} for number in range(others)]
    assert records(tmp_path, "s") == [*expected, {"name": "no key"}]
    assert "MissingKey: " in run(lines, tmp_path, **path).refused()


def test_a_setting_that_is_null_has_its_default() -> None:
    names = ("max_file_bytes", "commit_interval_seconds", "compression_level")
    more = ("lock_max_wait_seconds", "lock_stale_after_seconds", "storage_options")
    root = "memory://nulls"
    assert land(LINES, root, **dict.fromkeys([*names, *more])) == [b'{"at": 1}']


def test_numbers_with_a_fraction_work(seaweedfs: S3Server) -> None:
    """The SDK reads them as decimals, which no wait understands: nothing refreshed the lock."""
    root = f"s3://{seaweedfs.new_bucket()}/lake"
    options = seaweedfs.storage_options() | {"config_kwargs": {"read_timeout": 20.5}}
    outcome = run(
        LINES,
        root,
        storage_options=options,
        commit_interval_seconds=0.5,
        lock_stale_after_seconds=1.5,
        lock_max_wait_seconds=60.5,
    )
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}']), outcome.log
    assert "Traceback" not in outcome.log, outcome.log


# Meltano's environment.


def test_the_tap_id_and_the_run_id_come_from_meltano(tmp_path: Path) -> None:
    env = {
        "MELTANO_EXTRACTOR_NAME": "tap-shop",
        "MELTANO_EXTRACTOR_VARIANT": "acme",
        "MELTANO_RUN_ID": "run-17",
    }
    assert run(LINES, tmp_path, tap_id=None, env=env).code == 0
    (tap,) = lake(tmp_path).taps()
    assert tap.tap_id == "tap-shop--acme"
    (file,) = tap.stream("s").snapshot().files()
    assert file.run_id == "run-17"


def test_a_tap_id_that_is_set_counts_for_more_than_meltano(tmp_path: Path) -> None:
    env = {"MELTANO_EXTRACTOR_NAME": "tap-shop", "MELTANO_EXTRACTOR_VARIANT": "acme"}
    assert run(LINES, tmp_path, env=env).code == 0
    assert [tap.tap_id for tap in lake(tmp_path).taps()] == [TAP_ID]


def test_an_extractor_without_variant_is_known_by_its_name(tmp_path: Path) -> None:
    assert run(LINES, tmp_path, tap_id=None, env={"MELTANO_EXTRACTOR_NAME": "tap-shop"}).code == 0
    assert [tap.tap_id for tap in lake(tmp_path).taps()] == ["tap-shop"]


def test_every_run_has_a_run_id_of_its_own() -> None:
    root = "memory://run-ids"
    land(LINES, root)
    land(LINES, root)
    first, second = (file.run_id for file in files(root, "s"))
    assert first
    assert second
    assert first != second


# What is wrong with them.


def test_a_missing_lake_root_is_told() -> None:
    assert "Config validation failed" in (outcome := run(LINES, None)).refused()
    assert "lake_root" in outcome.log


@pytest.mark.parametrize("content", ["{", "[1]", "7", "null", None], ids=str)
def test_a_file_of_settings_that_cannot_be_read_is_told(
    content: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    error = run(LINES, tmp_path, arguments=["--config", str(path)]).refused()
    assert "what --config names cannot be read" in error


def test_an_empty_name_of_a_file_of_settings_is_told(tmp_path: Path) -> None:
    error = run(LINES, tmp_path, arguments=["--config", ""]).refused()
    assert "what --config names cannot be read" in error


def test_a_folder_of_settings_is_told(tmp_path: Path) -> None:
    error = run(LINES, tmp_path, arguments=["--config", "/"]).refused()
    assert "what --config names cannot be read" in error


@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_FILE_BYTES", "hush"), ("STORAGE_OPTIONS", '{"secret": "hush"')],
)
def test_a_variable_that_cannot_be_read_is_named_without_its_value(
    name: str, value: str, tmp_path: Path
) -> None:
    env = {f"TARGET_SINGERLAKE_{name}": value}
    outcome = run(LINES, tmp_path, env=env, arguments=["--config", "ENV"])
    assert f"TARGET_SINGERLAKE_{name} cannot be read as JSON of the type" in outcome.refused()
    assert "hush" not in outcome.log


def test_a_closed_stdin_is_told(tmp_path: Path) -> None:
    assert "stdin is closed" in run([], tmp_path, command=shell('exec "$@" <&-')).refused()


def test_a_missing_tap_id_is_told(tmp_path: Path) -> None:
    error = run(LINES, tmp_path, tap_id=None).refused()
    assert "tap_id is not set" in error
    assert "MELTANO_EXTRACTOR_NAME" in error


def test_an_unexpanded_pair_of_nothing_is_no_tap_id(tmp_path: Path) -> None:
    """What `$MELTANO_EXTRACTOR_NAME--$MELTANO_EXTRACTOR_VARIANT` expands to outside Meltano."""
    assert "tap_id is not set" in run(LINES, tmp_path, tap_id="--").refused()


@pytest.mark.parametrize("address", ["nobody://knows/this", "", "file://elsewhere/lake"])
def test_an_address_that_cannot_be_opened_is_told(address: str) -> None:
    run(LINES, address).refused()


@pytest.mark.parametrize("name", ["url", "create"])
def test_a_storage_option_with_a_name_of_ours_is_told(name: str, tmp_path: Path) -> None:
    assert "storage_options" in run(LINES, tmp_path, storage_options={name: True}).refused()


def test_a_lake_root_that_is_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("not a folder")
    assert str(path) in run(LINES, path).refused()


def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    """No permission bit stops root, but the kernel keeps `/sys` for itself."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    root = (Path("/sys") if os.geteuid() == 0 else folder) / "lake"
    if not root.parent.is_dir():
        pytest.skip("root may write everywhere here")
    assert str(root) in run(LINES, root).refused()


def test_a_machine_without_a_temporary_folder_is_told(tmp_path: Path) -> None:
    """As in a container whose every file system is read-only. A local lake has a place itself."""
    command = patched(
        "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc/nowhere']"
    )
    assert "TMPDIR" in run(LINES, "memory://lake", command=command).refused()
    assert run(LINES, tmp_path / "lake", command=command).code == 0


def test_wrong_types_are_told(tmp_path: Path) -> None:
    outcome = run(LINES, tmp_path, max_file_bytes="many")
    outcome.refused()
    assert "max_file_bytes" in outcome.log


@pytest.mark.parametrize("max_wait", [3, 5])
def test_a_wait_too_short_to_take_over_a_dead_writers_lock_is_told(
    max_wait: int, tmp_path: Path
) -> None:
    times = {"lock_max_wait_seconds": max_wait, "lock_stale_after_seconds": 5}
    error = run(LINES, tmp_path / "lake", **times).refused()
    assert f"lock_max_wait_seconds is {max_wait}: expected more than" in error
    assert not (tmp_path / "lake").exists()


# Secrets.

SECRETS = {"key": "hidden-key-id", "secret": "hidden-secret", "token": "hidden-session-token"}


def options_of(endpoint: str) -> dict[str, Any]:
    return {**SECRETS, "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"}}


def assert_no_secret(text: str) -> None:
    for name, secret in SECRETS.items():
        assert secret not in text, name


@pytest.mark.slow
def test_an_endpoint_that_does_not_answer_is_told_without_secrets() -> None:
    """At the level that tells most."""
    endpoint = f"http://127.0.0.1:{free_ports(1)[0]}"
    outcome = run(
        LINES,
        "s3://bucket/lake",
        storage_options=options_of(endpoint),
        env={"LOGLEVEL": "DEBUG"},
    )
    assert "Unavailable" in outcome.refused()
    assert outcome.states == []
    assert_no_secret(outcome.log)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_run_on_s3_tells_no_secret_at_any_log_level(
    moto_server: S3Server, path: dict[str, Any]
) -> None:
    bucket = moto_server.new_bucket()
    options = options_of(moto_server.endpoint)
    outcome = run(
        LINES,
        f"s3://{bucket}/lake",
        storage_options=options,
        env={"LOGLEVEL": "DEBUG"},
        **path,
    )
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}']), outcome.log
    assert_no_secret(outcome.log)


def test_about_shows_no_secret_of_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"lake_root": "s3://b/l", "storage_options": SECRETS}))
    for form in (["--format", "json"], ["--format", "markdown"], []):
        assert_no_secret(output("--config", str(path), "--about", *form))


def test_wrong_storage_options_tell_no_secret(tmp_path: Path) -> None:
    outcome = run(LINES, tmp_path, storage_options=SECRETS)
    outcome.refused()
    assert_no_secret(outcome.log)
    outcome = run(LINES, "s3://bucket/lake", storage_options=json.dumps(SECRETS))
    outcome.refused()
    assert_no_secret(outcome.log)


@pytest.mark.parametrize(
    "wrong",
    [json.dumps({"storage": {"params": SECRETS}}), {"storage": json.dumps({"params": SECRETS})}],
    ids=["a text", "a text inside"],
)
def test_a_wrong_batch_config_tells_no_secret(wrong: Any, tmp_path: Path) -> None:
    outcome = run(LINES, tmp_path, batch_config=wrong)
    assert "is not an object" in outcome.refused()
    assert_no_secret(outcome.log)


def test_a_lake_that_was_landed_is_clean(tmp_path: Path) -> None:
    assert run(LINES, tmp_path).code == 0
    assert_clean(tmp_path)
