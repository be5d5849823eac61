"""`schema_versions: merged`: one SCHEMA for the whole replay, and the records as they are."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from jsonschema import Draft7Validator

from singerlake.errors import ConfigError
from tests.tap.replay import (
    Config,
    config,
    deselect,
    discover,
    lake,
    land,
    new_root,
    record,
    replay,
    schema,
    stream_keys,
)

pytestmark = pytest.mark.usefixtures("door")

ID = {"id": {"type": "integer"}}
OLD = schema({**ID, "code": {"type": "integer"}, "gone": {"type": "string"}})
NEW = schema({**ID, "code": {"type": "string"}, "price": {"type": "number"}})
MERGED = {
    "id": {"type": "integer"},
    "code": {"type": ["string", "integer"]},
    "gone": {"type": ["null", "string"]},
    "price": {"type": ["null", "number"]},
}


@pytest.fixture
def root() -> str:
    made = new_root()
    land(
        made,
        [OLD, record(1, code=5, gone="x")],
        [NEW, record(2, code="five", price=1.5)],
        [NEW, record(3, code="six", price=2)],
    )
    return made


def merged(root: str, **others: Any) -> Config:
    return config(root, schema_versions="merged", **others)


@pytest.mark.parametrize("setting", ["merged", ["merged"]])
def test_one_schema_holds_all_records_as_they_are(root: str, setting: Any) -> None:
    printed = replay(config(root, schema_versions=setting))
    (only,) = printed.of("SCHEMA")
    assert printed.kinds[0] == "SCHEMA"
    assert only["schema"]["properties"] == MERGED
    assert only["key_properties"] == ["id"]
    plain = replay(config(root))
    assert [line for line in printed.data if b'"RECORD"' in line] == [
        line for line in plain.data if b'"RECORD"' in line
    ]
    for row in printed.records():
        Draft7Validator(only["schema"]).validate(row)
    assert printed.state == plain.state


def test_a_later_run_has_the_same_schema(root: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        first = replay(merged(root))
    assert "left out" not in caplog.text
    land(root, [OLD, record(4, code=7, gone="y")])
    second = replay(merged(root), state=first.state)
    assert second.numbers() == [4]
    assert second.of("SCHEMA")[0]["schema"] == first.of("SCHEMA")[0]["schema"]
    third = replay(merged(root), state=second.state)
    assert third.of("SCHEMA") == second.of("SCHEMA")
    assert third.numbers() == []


def test_what_is_deselected_is_in_no_schema_and_no_record(root: str) -> None:
    catalog = deselect(discover(merged(root)), "price")
    printed = replay(merged(root), catalog=catalog)
    (only,) = printed.of("SCHEMA")
    assert list(only["schema"]["properties"]) == ["id", "code", "gone"]
    assert [set(row) for row in printed.records()] == [{"id", "code", "gone"}] + 2 * [
        {"id", "code"}
    ]


def test_maps_hold_for_the_merged_schema(root: str) -> None:
    printed = replay(merged(root, stream_maps={"orders": {"twice": "id * 2"}}))
    (only,) = printed.of("SCHEMA")
    assert {"code", "gone", "price", "twice"} <= set(only["schema"]["properties"])
    assert [row["twice"] for row in printed.records()] == [2, 4, 6]


def test_without_a_manifest_the_files_have_the_versions(root: str) -> None:
    expected = replay(merged(root)).of("SCHEMA")
    lake(root).store.delete(stream_keys().manifest)
    printed = replay(merged(root))
    assert printed.numbers() == [1, 2, 3]
    assert printed.of("SCHEMA") == expected


def test_one_version_is_its_own_schema() -> None:
    root = new_root()
    land(root, [OLD, record(1, code=5, gone="x")])
    assert (
        replay(merged(root)).of("SCHEMA")[0]["schema"]
        == replay(config(root)).of("SCHEMA")[0]["schema"]
    )


def test_a_key_that_the_older_version_lacks_is_an_error(root: str) -> None:
    keys = ["id", "price"]
    land(
        root, [schema({**ID, "price": {"type": "number"}}, key_properties=keys), record(4, price=1)]
    )
    with pytest.raises(ConfigError, match=r"schema_versions is merged, stream 'orders'.* no price"):
        replay(merged(root))
