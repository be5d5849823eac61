"""`singerlake process scheduled`."""

from __future__ import annotations

from singerlake.cli.console import print_json_lines, print_table, table
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command, moment, plain
from singerlake.processor import Engine


@engine_command
def scheduled(engine: Engine, as_json: bool) -> None:
    """List scheduled events, the next one first.

    \b
    Examples:
      singerlake process scheduled --json
    """
    rows = [
        {"id": one.id, "key": one.key, "due": moment(one.due), "value": plain(one.value)}
        for one in engine.scheduled()
    ]
    if as_json:
        print_json_lines(rows)
        return
    made = table("id", "key", "due", fixed=("due",))
    for row in rows:
        made.add_row(shown(row["id"]), shown(row["key"]), str(row["due"]))
    print_table(made)
