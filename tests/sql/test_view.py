"""The names of views: every stream has one, and two streams never share one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from singerlake.sql import query
from singerlake.sql.name import RESERVED
from singerlake.sql.view import views
from tests.spark.lakes import land, record_line, schema_line

names = st.sampled_from(["orders", "Orders", "ORDERS", "orders_1", "main", "published", "a.b", '"'])
streams = st.sets(st.tuples(names | st.text(min_size=1), names | st.text(min_size=1)), max_size=8)


@given(streams)
def test_no_two_views_share_a_name(found: set[tuple[str, str]]) -> None:
    made = views(sorted(found), "memory")
    assert {(view.tap_id, view.stream) for view in made} == found
    places = {(view.schema.lower(), view.name.lower()) for view in made}
    plain = [view.name.lower() for view in made if view.is_only]
    assert len(places) == len(made)
    assert len(set(plain)) == len(plain)
    assert not {view.schema.lower() for view in made} & RESERVED
    for view in made:
        assert view.sql.encode()


def test_views_of_taps_that_differ_in_case_alone(tmp_path: Path) -> None:
    for tap, stream in (("tap", "things"), ("Tap", "things"), ("tap", "Things")):
        schema = schema_line({"id": {"type": "integer"}}, stream=stream)
        land(tmp_path, [schema, record_line({"id": len(tap + stream)}, stream=stream)], tap)
    found = query(tmp_path, "show all tables").table.to_pylist()
    schemas = {(row["schema"], row["name"]) for row in found if row["database"] == "memory"}
    assert schemas >= {("Tap", "things"), ("tap_1", "Things"), ("tap_1", "things_1")}
    for view in ('"Tap".things', 'tap_1."Things"', "tap_1.things_1"):
        assert query(tmp_path, f"select count(*) n from {view}").table.to_pylist() == [{"n": 1}]


def test_hostile_names_of_taps_and_streams(tmp_path: Path) -> None:
    for tap, stream in (('t"ap', "or;ders"), ("..", "select"), ("main", "x'"), ("a/b", "Größe")):
        schema = schema_line({"id": {"type": "integer"}}, stream=stream)
        land(tmp_path, [schema, record_line({"id": 1}, stream=stream)], tap)
    for name in ('"t""ap"."or;ders"', '"select"', '"x\'"', '"a/b"."Größe"'):
        assert query(tmp_path, f"select count(*) n from {name}").table.to_pylist() == [{"n": 1}]
