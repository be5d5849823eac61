"""A shop's tables in PostgreSQL, what happens to them, and their rows as text to compare."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from tests.plugins.postgres import Postgres

Row = dict[str, Any]

TABLES = """
CREATE TABLE orders (
    id bigint PRIMARY KEY,
    total numeric(10, 2),
    rate numeric,
    quantity integer,
    paid boolean,
    placed timestamp with time zone,
    sent timestamp without time zone,
    due date,
    note text,
    details jsonb,
    weight double precision,
    code uuid
);
CREATE TABLE visits (page text, seconds numeric(6, 3), seen timestamp with time zone);
"""


def _orders(first: int, last: int) -> str:
    """Most totals are no double, and some values of every column are null."""
    return f"""
        INSERT INTO orders
        SELECT n, CASE WHEN n % 9 = 0 THEN NULL ELSE n * 28.52 - 1000 END, n / 64.0 + 0.1,
               CASE WHEN n % 7 = 0 THEN NULL ELSE n END, n % 2 = 0,
               timestamptz '2026-03-29 00:59:59.123456+01' + n * interval '1 minute',
               timestamp '2026-03-29 02:30:00.5' + n * interval '1 second',
               date '2024-02-28' + n::int,
               (ARRAY[NULL, '', 'plain', E'Größe "x"\\n, 大阪', '🫖'])[n % 5 + 1],
               (ARRAY['{{"a": [1, {{"b": null}}], "c": 1.5}}', '[1, 2]', NULL])[n % 3 + 1]::jsonb,
               sqrt(n), md5(n::text)::uuid
        FROM generate_series({first}, {last}) AS n;
    """


def _visits(first: int, last: int) -> str:
    """A table without a key may have the same row twice."""
    return f"""
        INSERT INTO visits
        SELECT '/page/' || n % 4, n % 4 * 0.125, timestamptz '2026-01-01 00:00:00Z'
        FROM generate_series({first}, {last}) AS n;
    """


LOADED = _orders(1, 200) + _visits(1, 20)

CHANGES = {
    "inserts": _orders(201, 260) + _visits(21, 30),
    "updates": """
        UPDATE orders SET total = total + 0.07, note = 'changed', sent = NULL WHERE id % 3 = 0;
        UPDATE orders SET details = '{"d": "e"}', rate = 12.5 WHERE id < 20;
        UPDATE visits SET seconds = 59.999 WHERE page = '/page/1';
    """,
    "deletes": """
        DELETE FROM orders WHERE id % 10 = 0;
        INSERT INTO orders (id, total) VALUES (10, 10.10);
        DELETE FROM visits WHERE page = '/page/2';
    """,
    "a changed type": """
        UPDATE orders SET quantity = 77 WHERE id = 7;
        ALTER TABLE orders ALTER COLUMN quantity TYPE text;
        UPDATE orders SET quantity = 'a dozen' WHERE id = 12;
        INSERT INTO orders (id, quantity, total) VALUES (2000, 'none', 0.29);
    """,
    "a changed key": "UPDATE orders SET id = 1000 WHERE id = 1;",
    "truncate": "TRUNCATE orders, visits; INSERT INTO orders (id) VALUES (5);",
    "an empty table": "DELETE FROM orders;",
}


def source(postgres: Postgres, schema: str, table: str) -> list[str]:
    """The rows of the table, as text: what `select * from` it gives now."""
    select = f"SET TIME ZONE 'UTC'; SELECT row_to_json(t) FROM {schema}.{table} AS t;"
    lines = postgres.sql(select).splitlines()
    return canonical(json.loads(line, parse_float=Decimal) for line in lines)


def canonical(rows: Iterable[Row]) -> list[str]:
    """Rows in order, each value as the one text that stands for it, whoever has read it."""
    return sorted(
        json.dumps({name: _text(name, row[name]) for name in sorted(row)}, ensure_ascii=False)
        for row in rows
    )


def _text(column: str, value: Any) -> str | None:
    return None if value is None else _KINDS.get(column, str)(value)


def _number(value: Any) -> str:
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return f"{exact.normalize():f}"


def _time(value: Any) -> str:
    read = datetime.fromisoformat(value) if isinstance(value, str) else value
    zoned = read if read.tzinfo else read.replace(tzinfo=timezone.utc)
    return str(zoned.astimezone(timezone.utc).isoformat(timespec="microseconds"))


def _day(value: Any) -> str:
    """Taps may have days as their midnight."""
    if isinstance(value, datetime):
        assert value.time().isoformat() == "00:00:00", value
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def _json(value: Any) -> str:
    """A column of JSON is text in a table."""
    read = json.loads(value, parse_float=Decimal) if isinstance(value, str) else value
    return json.dumps(read, sort_keys=True, default=_number)


_KINDS: dict[str, Callable[[Any], str]] = {
    "total": _number,
    "rate": _number,
    "weight": _number,
    "seconds": _number,
    "placed": _time,
    "sent": _time,
    "seen": _time,
    "due": _day,
    "details": _json,
}
