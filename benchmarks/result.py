"""What a benchmark found, and how it is shown: on a terminal, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.table import Table as RichTable

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first columns are text, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    text_columns: int = 1


@dataclass(frozen=True)
class Goal:
    """A number that must not be larger than its limit, or with `at_least`, not smaller."""

    what: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Result:
    """One benchmark's tables, goals, what a reader of them has to know, and images as SVG."""

    tables: Sequence[Table]
    goals: Sequence[Goal]
    notes: Sequence[str] = field(default_factory=tuple)
    images: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        return all(goal.is_met for goal in self.goals)


def as_json(result: Result) -> dict[str, Any]:
    body = asdict(result)
    del body["images"]
    for goal, shown in zip(result.goals, body["goals"], strict=True):
        shown["is_met"] = goal.is_met
    return body


def show(result: Result, console: Console) -> None:
    for table in result.tables:
        shown = RichTable(title=table.title, title_justify="left", title_style="bold")
        for number, column in enumerate(table.columns):
            justify: Literal["left", "right"] = "left" if number < table.text_columns else "right"
            shown.add_column(column, justify=justify, no_wrap=number == 0)
        for row in table.rows:
            shown.add_row(*map(_text, row))
        console.print(shown, "")
    for goal in result.goals:
        mark = "[green]met[/]" if goal.is_met else "[bold red]missed[/]"
        console.print(f"{mark}: {_goal(goal)}")
    for note in result.notes:
        console.print(f"- {note}", style="dim", markup=False, highlight=False)


def as_markdown(result: Result) -> str:
    parts = []
    for table in result.tables:
        rules = ["---" if n < table.text_columns else "--:" for n in range(len(table.columns))]
        rows = [table.columns, rules, *([_text(cell) for cell in row] for row in table.rows)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        parts.append(f"**{table.title}**\n\n" + "\n".join(lines))
    goals = [f"- {'met' if goal.is_met else '**missed**'}: {_goal(goal)}" for goal in result.goals]
    if goals:
        parts.append("Goals:\n\n" + "\n".join(goals))
    if result.notes:
        parts.append("Notes:\n\n" + "\n".join(f"- {note}" for note in result.notes))
    return "\n\n".join(parts)


def _goal(goal: Goal) -> str:
    bound = "at least" if goal.at_least else "at most"
    return f"{goal.what}: {_text(goal.value)} ({bound} {_text(goal.limit)})"


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
