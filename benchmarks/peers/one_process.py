"""duckdb or polars over the files of a lake: `python one_process.py duckdb`, where it is installed.

Tasks come on standard input and answers go to standard output, a JSON object on each line, so that
the process is warm, as Spark is. A task has `files`, `properties` (JSON Schema: of those columns
that are wanted), and either `output`, the parquet file to write, or `sum` and `max`, two columns;
then the answer has `found`: the number of rows, the sum and the maximum.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Property = dict[str, Any]


def kind_of(schema: Property) -> str:
    """The one type besides null; `time` for a date-time."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next(kind for kind in kinds if kind != "null")
    return "time" if schema.get("format") == "date-time" else str(kind)


class Duckdb:
    """SQL over `read_json`, which gets the types."""

    SCALARS = {  # noqa: RUF012
        "integer": "BIGINT",
        "number": "DOUBLE",
        "boolean": "BOOLEAN",
        "string": "VARCHAR",
        "time": "TIMESTAMPTZ",
    }

    def do(self, task: dict[str, Any]) -> Any:
        import duckdb  # type: ignore[import-not-found, unused-ignore]

        types = self._type({"type": "object", "properties": task["properties"]})
        files = ", ".join(f"'{file}'" for file in task["files"])
        rows = (
            f"SELECT unnest(record) FROM read_json([{files}], format='newline_delimited', "
            f"compression='gzip', columns={{'type': 'VARCHAR', 'record': '{types}'}}) "
            "WHERE type = 'RECORD'"
        )
        if task.get("output"):
            duckdb.execute(
                f"COPY ({rows}) TO '{task['output']}' (FORMAT parquet, COMPRESSION snappy)"
            )
            return None
        wanted = f"count(*), sum({task['sum']}), max({task['max']})"
        return duckdb.execute(f"SELECT {wanted} FROM ({rows})").fetchall()[0]

    def _type(self, schema: Property) -> str:
        kind = kind_of(schema)
        if kind == "array":
            return f"{self._type(schema['items'])}[]"
        if kind == "object":
            inner = (f'"{n}" {self._type(s)}' for n, s in schema["properties"].items())
            return f"STRUCT({', '.join(inner)})"
        return self.SCALARS[kind]


class Polars:
    """A lazy scan, which gets the types."""

    def do(self, task: dict[str, Any]) -> Any:
        import polars as pl  # type: ignore[import-not-found, unused-ignore]

        record = self._type({"type": "object", "properties": task["properties"]})
        scan = pl.scan_ndjson(task["files"], schema={"type": pl.String, "record": record})
        rows = scan.filter(pl.col("type") == "RECORD").select("record").unnest("record")
        if task.get("output"):
            rows.sink_parquet(task["output"], compression="snappy")
            return None
        return (
            rows.select(pl.len(), pl.col(task["sum"]).sum(), pl.col(task["max"]).max().alias("max"))
            .collect()
            .row(0)
        )

    def _type(self, schema: Property) -> Any:
        import polars as pl

        kind = kind_of(schema)
        if kind == "array":
            return pl.List(self._type(schema["items"]))
        if kind == "object":
            return pl.Struct({n: self._type(s) for n, s in schema["properties"].items()})
        scalars = {
            "integer": pl.Int64,
            "number": pl.Float64,
            "boolean": pl.Boolean,
            "string": pl.String,
            "time": pl.Datetime("us", "UTC"),
        }
        return scalars[kind]


def main(name: str) -> None:
    peer = Duckdb() if name == "duckdb" else Polars()
    for line in sys.stdin:
        try:
            answer = {"found": peer.do(json.loads(line))}
        except Exception as error:  # told to the process that asked
            answer = {"failure": f"{type(error).__name__}: {str(error)[:300]}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
