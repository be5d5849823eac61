"""The file formats of projections, by themselves. No Spark is needed."""

from __future__ import annotations

import io

import pyarrow as pa

from singerlake.spark.formats import FORMATS


def test_records_within_an_avro_record_have_names_of_their_own() -> None:
    inner = pa.struct([("x", pa.int64())])
    schema = pa.schema([("a", pa.struct([("b_c", inner)])), ("a_b", pa.struct([("c", inner)]))])
    row = {"a": {"b_c": {"x": 1}}, "a_b": {"c": {"x": 2}}}
    file = io.BytesIO()
    sink = FORMATS["avro"].open(file, schema)
    sink.write(pa.RecordBatch.from_pylist([row], schema))
    sink.close()
    file.seek(0)
    (batch,) = FORMATS["avro"].read(file, schema)
    assert batch.to_pylist() == [row]
