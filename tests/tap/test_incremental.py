"""The bookmark is a sequence number: a second run emits what was committed since."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singerlake import rebuild
from singerlake.errors import MissingManifest, StaleBookmark
from tests.tap.replay import (
    STREAM,
    TAP_ID,
    config,
    deselect,
    discover,
    files,
    lake,
    land,
    land_numbers,
    new_root,
    record,
    replay,
    schema,
    stream_keys,
)

pytestmark = pytest.mark.usefixtures("door")


@pytest.fixture
def root() -> str:
    """Three files of one record each."""
    address = new_root()
    land_numbers(address, 1, 2, 3)
    return address


def bookmark(root: str, sequence: Any, stream: str = STREAM) -> dict[str, Any]:
    log_id = lake(root).stream(TAP_ID, stream).snapshot().log_id
    return {"bookmarks": {stream: {"log_id": log_id, "sequence": sequence}}}


def test_the_first_run_is_whole_with_a_state_after_each_file(root: str) -> None:
    printed = replay(config(root))
    assert printed.kinds == ["SCHEMA", "RECORD", "STATE", "RECORD", "STATE", "RECORD", "STATE"]
    assert printed.sequences() == [1, 2, 3]
    kept = bookmark(root, 3)["bookmarks"][STREAM] | {"check": files(root)[-1].check}
    assert printed.state == {"bookmarks": {STREAM: kept}}


@pytest.mark.parametrize("settings", [{}, {"flattening_enabled": True, "flattening_max_depth": 1}])
def test_the_second_run_emits_what_was_committed_since(root: str, settings: dict[str, Any]) -> None:
    first = replay(config(root, **settings))
    # Committed later, extracted earlier: a bookmark by time would pass it over.
    land_numbers(root, 0, 7)
    second = replay(config(root, **settings), state=first.state)
    assert second.numbers() == [0, 7]
    assert second.sequences() == [3, 4, 5]
    assert second.kinds[:3] == ["STATE", "SCHEMA", "RECORD"]


def test_any_state_on_the_way_resumes_there(root: str) -> None:
    for state in replay(config(root)).of("STATE"):
        sequence = state["value"]["bookmarks"][STREAM]["sequence"]
        assert replay(config(root), state=state["value"]).numbers() == [1, 2, 3][sequence:]


def test_nothing_new_is_a_schema_and_the_same_state(root: str) -> None:
    state = replay(config(root)).state
    again = replay(config(root), state=state)
    assert again.kinds == ["STATE", "SCHEMA"]
    assert again.state == state


KEYWORDS: dict[str, Any] = {
    "id": {"type": "integer", "x-unit": "pieces"},
    "price": {"$ref": "#/definitions/money"},
    "kind": {"const": "sale"},
    "tags": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "name": {"type": "string"},
}
DEFINITIONS = {"money": {"type": "number", "multipleOf": 0.01}}


@pytest.mark.parametrize(
    "settings",
    [{}, {"stream_maps": {STREAM: {"label": "kind"}}}],
    ids=["as it is", "mapped"],
)
@pytest.mark.parametrize("deselected", [(), ("name",)], ids=["whole", "without a property"])
def test_nothing_new_is_the_schema_of_the_run_before_with_every_keyword(
    settings: dict[str, Any], deselected: tuple[str, ...]
) -> None:
    root = new_root()
    stored = {"type": "object", "definitions": DEFINITIONS, "properties": KEYWORDS}
    land(root, [schema(schema=stored), record(1, name="a", kind="sale")])
    catalog = deselect(discover(config(root)), *deselected) if deselected else None
    first = replay(config(root, **settings), catalog=catalog)
    again = replay(config(root, **settings), state=first.state, catalog=catalog)
    assert (again.of("RECORD"), again.of("SCHEMA")) == ([], first.of("SCHEMA"))
    (message,) = again.of("SCHEMA")
    assert message["schema"]["definitions"] == DEFINITIONS
    assert message["schema"]["properties"]["price"] == KEYWORDS["price"]


def test_other_streams_bookmarks_are_kept(root: str) -> None:
    land_numbers(root, 1, stream="customers")
    state = replay(config(root)).state
    land_numbers(root, 4)
    catalog = deselect(discover(config(root)), stream="customers")
    again = replay(config(root), state=state, catalog=catalog)
    assert again.numbers() == [4]
    assert again.state["bookmarks"]["customers"] == state["bookmarks"]["customers"]


def test_full_table_in_the_catalog_ignores_the_bookmark(root: str) -> None:
    state = replay(config(root)).state
    catalog = discover(config(root))
    catalog["streams"][0]["replication_method"] = "FULL_TABLE"
    again = replay(config(root), state=state, catalog=catalog)
    assert again.numbers() == [1, 2, 3]
    assert again.state == state


def test_a_bookmark_of_another_lake_is_refused(root: str) -> None:
    other = new_root()
    land_numbers(other, 1, 2, 3, 4)
    state = replay(config(other)).state
    with pytest.raises(StaleBookmark, match=r"belongs to another log.*--full-refresh"):
        replay(config(root), state=state)


def test_a_bookmark_from_before_a_rebuild_that_renumbered_is_refused(root: str) -> None:
    state = replay(config(root)).state
    store = lake(root).store
    store.delete(stream_keys().manifest)
    rebuild(store)
    with pytest.raises(StaleBookmark, match="a rebuild gave new sequence numbers"):
        replay(config(root), state=state)
    assert sorted(replay(config(root)).numbers()) == [1, 2, 3]


def test_a_bookmark_past_the_newest_file_is_refused(root: str) -> None:
    with pytest.raises(StaleBookmark, match=r"bookmark is at 4, and the newest file is 3"):
        replay(config(root), state=bookmark(root, 4))


@pytest.mark.parametrize("sequence", ["2", None, 1.5, []])
def test_a_bookmark_that_is_no_number_is_refused(root: str, sequence: Any) -> None:
    with pytest.raises(StaleBookmark, match="stream 'orders': expected a bookmark such as"):
        replay(config(root), state=bookmark(root, sequence))


def test_an_error_in_one_bookmark_names_lake_tap_and_stream(root: str) -> None:
    with pytest.raises(StaleBookmark) as caught:
        replay(config(root), state=bookmark(root, 4))
    for name in (root, TAP_ID, STREAM):
        assert name in str(caught.value)


@pytest.mark.parametrize("bookmark", [{"log_id": "x"}, {"replication_key_value": "2026"}], ids=str)
def test_a_bookmark_of_another_tap_is_a_warning_and_everything_comes(
    root: str, bookmark: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        printed = replay(config(root), state={"bookmarks": {STREAM: bookmark}})
    assert printed.numbers() == [1, 2, 3]
    assert caplog.text.count("bookmark of stream 'orders' has no `sequence`") == 1


def test_no_bookmark_is_no_warning(root: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        replay(config(root), state={"bookmarks": {STREAM: {}}})
    assert "sequence" not in caplog.text


def test_a_bookmark_of_a_stream_that_is_gone_is_a_warning(
    root: str, caplog: pytest.LogCaptureFixture
) -> None:
    land_numbers(root, 1, stream="gone")
    state = replay(config(root)).state
    assert "gone" in state["bookmarks"]
    with caplog.at_level(logging.WARNING):
        printed = replay(config(root, streams=[STREAM]), state=state)
    assert "a bookmark of stream 'gone', which is not in the lake" in caplog.text
    assert printed.state["bookmarks"] == state["bookmarks"]


def test_a_stream_of_the_catalog_that_is_gone_is_a_warning(
    root: str, caplog: pytest.LogCaptureFixture
) -> None:
    land_numbers(root, 1, stream="gone")
    land_numbers(root, 1, stream="unwanted")
    catalog = deselect(discover(config(root)), stream="unwanted")
    with caplog.at_level(logging.WARNING):
        printed = replay(config(root, streams=[STREAM]), catalog=catalog)
    assert printed.numbers() == [1, 2, 3]
    assert "The catalog selects stream 'gone', which is not in the lake" in caplog.text
    assert "unwanted" not in caplog.text


def test_a_stream_whose_objects_were_deleted_is_an_error(root: str) -> None:
    state = replay(config(root)).state
    store = lake(root).store
    for row in list(store.list(stream_keys().folder)):
        store.delete(row.key)
    with pytest.raises(StaleBookmark, match=STREAM):
        replay(config(root), state=state)


def without_manifest(root: str) -> None:
    lake(root).store.delete(stream_keys().manifest)


@pytest.mark.parametrize("versions", ["all", "latest"])
def test_without_a_manifest_everything_comes_by_listing(
    root: str, versions: str, caplog: pytest.LogCaptureFixture
) -> None:
    without_manifest(root)
    with caplog.at_level(logging.WARNING):
        printed = replay(config(root, schema_versions=versions))
    assert printed.numbers() == [1, 2, 3]
    assert printed.state == {"bookmarks": {STREAM: {}}}
    assert "manifest of 'orders' is missing" in caplog.text
    assert "singerlake rebuild" in caplog.text


def test_without_a_manifest_a_bookmark_means_nothing(root: str) -> None:
    state = replay(config(root)).state
    without_manifest(root)
    with pytest.raises(MissingManifest, match="singerlake rebuild"):
        replay(config(root), state=state)
