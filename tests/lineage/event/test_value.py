"""Events as bytes: valid JSON whatever names hold."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from singerlake.format.schema import Schema
from singerlake.lineage.event import schema, value
from singerlake.lineage.event.value import Dataset, DatasetEvent
from tests.lineage.oracle import require_valid

texts = st.text(st.characters(), min_size=1, max_size=20)


@given(texts, st.dictionaries(texts, st.sampled_from(["string", "object", "array", "integer"])))
def test_every_name_makes_a_valid_event(stream: str, properties: dict[str, str]) -> None:
    declared = {"properties": {key: {"type": kind} for key, kind in properties.items()}}
    about = schema.of_stream(Schema(declared))
    dataset = Dataset(namespace="file", name=stream, facets={"schema": about})
    data = value.encode(DatasetEvent(event_time="2026-11-18T00:00:00Z", dataset=dataset))
    assert b"\n" not in data
    assert b"\\u0000" not in data
    event = json.loads(data.decode("utf-8"))
    require_valid(event)
    assert len(event["dataset"]["facets"]["schema"]["fields"]) == len(properties)


def test_nested_columns_come_with_their_fields_and_descriptions() -> None:
    inner = {"type": "object", "properties": {"sku": {"type": "string", "description": "which"}}}
    properties = {"lines": {"type": "array", "items": inner}, "buyer": inner}
    found = schema.of_stream(Schema({"type": "object", "properties": properties}))
    lines, buyer = found.fields
    assert (lines.type, buyer.type) == ("array<struct>", "struct")
    for one in (lines, buyer):
        assert isinstance(one.fields, tuple)
        assert (one.fields[0].name, one.fields[0].description) == ("sku", "which")
