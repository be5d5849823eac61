"""The statements in `sql/`: each begins with its name, and a sentence that says what it is for."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


@cache
def statements(file: str) -> dict[str, str]:
    """The statements of a file by name, without their comments."""
    text = resources.files(__package__).joinpath("sql").joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {
        name: "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


@lru_cache(maxsize=1000)
def for_postgresql(sql: str) -> str:
    """The statement with its parameters as psycopg writes them."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))
