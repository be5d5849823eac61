"""`singerlake process dead ls`."""

from __future__ import annotations

from singerlake.cli.console import print_json_lines, print_table, table
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command, letter_as_json
from singerlake.processor import Engine


@engine_command
def ls(engine: Engine, as_json: bool) -> None:
    """List dead letters, the oldest first.

    \b
    Examples:
      singerlake process dead ls
    """
    letters = [letter_as_json(letter) for letter in engine.dead()]
    if as_json:
        print_json_lines(letters)
        return
    made = table("key", "position", "at", "deliveries", "reason", fixed=("position", "at"))
    for row in letters:
        cells = (str(row["position"]), str(row["at"]), str(row["deliveries"]))
        made.add_row(shown(row["key"]), *cells, shown(row["reason"]))
    print_table(made)
