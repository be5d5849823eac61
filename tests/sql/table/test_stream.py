"""The columns of a stream in SQL: whatever they are called, each is there once."""

from __future__ import annotations

from pathlib import Path

from tests.spark.lakes import land, record_line, schema_line
from tests.sql.test_lake import rows


def test_columns_that_differ_in_case_alone_are_told_apart(tmp_path: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}, "ID": {"type": "string"}})
    land(tmp_path, [schema, record_line({"id": 1, "ID": "one"})])
    assert rows(tmp_path, "from things", metadata=False) == [{"id": 1, "ID_1": "one"}]
    assert rows(tmp_path, "select id from things where \"ID_1\" = 'one'") == [{"id": 1}]


def test_odd_names_of_columns(tmp_path: Path) -> None:
    odd = ['a "b"', "x.y", "Größe", "select", "'"]
    schema = schema_line({name: {"type": "integer"} for name in odd}, keys=())
    land(tmp_path, [schema, record_line(dict(zip(odd, range(5), strict=True)))])
    for number, name in enumerate(odd):
        quoted = '"' + name.replace('"', '""') + '"'
        (found,) = rows(tmp_path, f"select {quoted} from things where {quoted} = {number}")
        assert found == {name: number}


def test_a_property_hides_the_metadata_column_of_its_name(tmp_path: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}, "_file": {"type": "string"}})
    land(tmp_path, [schema, record_line({"id": 1, "_file": "mine"})])
    assert rows(tmp_path, "select _file, _sequence from things") == [
        {"_file": "mine", "_sequence": 1}
    ]


def test_a_stream_without_properties_has_its_records_as_text(tmp_path: Path) -> None:
    land(tmp_path, [schema_line({}, keys=()), record_line({"a": 1})])
    assert rows(tmp_path, "from things", metadata=False) == [{"_record": '{"a": 1}'}]
