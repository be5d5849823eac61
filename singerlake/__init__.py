"""Singerlake: the raw data lake for Singer.

from singerlake import open_lake

lake = open_lake("s3://bucket/lake")
for record in lake.stream("tap-x--meltano", "orders").snapshot().records():
    ...
"""

from singerlake.errors import SingerlakeError
from singerlake.lake import (
    Lake,
    Selection,
    Snapshot,
    Stream,
    Tap,
    Writer,
    WriterOptions,
    check,
    open_lake,
    rebuild,
)

__all__ = [
    "Lake",
    "Selection",
    "SingerlakeError",
    "Snapshot",
    "Stream",
    "Tap",
    "Writer",
    "WriterOptions",
    "check",
    "open_lake",
    "rebuild",
]
