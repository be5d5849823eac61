"""Misfits: values that do not fit the type of their column. They are null there, and counted.

The count of a column is of records whose value does not fit, as a whole or in a part of it. A line
that is no record counts for the column `_corrupt_record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from singerlake.decode.value import Misplaced, converter
from singerlake.errors import TooManyMisfits
from singerlake.format.record_type import Type

CORRUPT = "_corrupt_record"

ADVICE = "Read the column as text with numbers string, or allow so many with max_misfits"
_SHOWN = 80


@dataclass(frozen=True)
class Misfit:
    """The misfits of one column: how many, and one of them: its JSON text, and where it stands."""

    count: int
    example: str
    where: str = ""

    def __add__(self, other: Misfit) -> Misfit:
        return replace(self, count=self.count + other.count)


@dataclass
class Tally:
    """Misfits by column, counted as rows pass."""

    found: dict[str, Misfit] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(misfit.count for misfit in self.found.values())

    def __str__(self) -> str:
        if self.total == 1:
            return "1 value does not fit its column"
        return f"{self.total} values do not fit their columns"

    @property
    def counts(self) -> dict[str, int]:
        return {column: misfit.count for column, misfit in self.found.items()}

    def add(self, row: Iterable[tuple[str, str]], where: str = "") -> None:
        """Count the misfits of one record: the text of each by its column."""
        for column, text in row:
            self.merge({column: Misfit(1, text, where)})

    def merge(self, more: Mapping[str, Misfit]) -> None:
        for column, misfit in more.items():
            known = self.found.get(column)
            self.found[column] = misfit if known is None else known + misfit

    def require(self, limit: int | None, columns: Mapping[str, Type], advice: str = ADVICE) -> None:
        """Raises `TooManyMisfits` where there are more than the limit; None allows any number."""
        if limit is not None and self.total > limit:
            allowed = "none is" if limit == 0 else f"{limit} are"
            raise TooManyMisfits(
                f"{self}, and {allowed} allowed: {described(self.found, columns)}. {advice}"
            )


def described(found: Mapping[str, Misfit], columns: Mapping[str, Type]) -> str:
    """The misfits in words, the most frequent column first."""
    ordered = sorted(found.items(), key=lambda item: -item[1].count)
    return "; ".join(_described(name, misfit, columns.get(name)) for name, misfit in ordered)


def _described(column: str, misfit: Misfit, kind: Type | None) -> str:
    path, text = (column, misfit.example) if kind is None else smallest(misfit, column, kind)
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    what = column if kind is None else f"{column} ({kind.simple[:_SHOWN]})"
    inner = "" if path == column else f" at {path}"
    where = f" in {misfit.where}" if misfit.where else ""
    return f"{what} {misfit.count}, such as {shown}{inner}{where}"


def smallest(misfit: Misfit, column: str, kind: Type) -> tuple[str, str]:
    """The path and the text of the smallest part of the example that does not fit."""
    found: list[Misplaced] = []
    converter(kind, column)(misfit.example.encode("utf-8", "surrogatepass"), found)
    return (found[0].path, found[0].text) if found else (column, misfit.example)
