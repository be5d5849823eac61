"""The commands, each loaded when it is used: a command line should answer at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

COMMANDS = {
    "annotate": "Note who owns a TAP and what it is.",
    "cat": "Print the records of a stream.",
    "check": "Find out what is wrong with a lake.",
    "completion": "Print what makes a shell complete this.",
    "demo": "Make a small lake and look around in it.",
    "diff": "Compare two schema versions.",
    "doctor": "Find out whether a store is fit.",
    "du": "Show what each stream takes up.",
    "events": "Show what is awaited, and what has come.",
    "find": "Find the files of a stream, a time, a run.",
    "forget": "Forget files, and remove their bytes.",
    "get": "Get a file out of the lake.",
    "help": "Explain a command, or a topic.",
    "index": "Find files by tap, stream, time and run.",
    "land": "Start a tap, and land what it sends.",
    "latest": "Show the newest file of a stream.",
    "lineage": "Trace what was made of what.",
    "log": "Show what was committed, newest last.",
    "ls": "List taps and streams.",
    "pin": "Give the lake as it is now a name.",
    "pins": "List the states that have a name.",
    "process": "Run work per stream, in commit order.",
    "project": "Publish streams as typed files.",
    "put": "Put files of any kind into the lake.",
    "read-only": "Refuse every change of a lake.",
    "rebuild": "Make all metadata again, from the files.",
    "restore": "Have a lake agree with itself after a backup.",
    "runs": "List runs, and how they ended.",
    "show": "Show one stream.",
    "site": "Make pages of a lake.",
    "sql": "Query a lake in SQL.",
    "unpin": "Forget a state that has a name.",
    "vacuum": "Merge small files.",
    "verify": "Check a lake on many machines.",
    "wait": "Wait until several things have arrived.",
}
"""The first line of each command's help."""


class LazyGroup(click.Group):
    """Imports the command that was asked for, and no other; its help imports none.

    `table` has the first line of each command's help. Command `x-y` is `x_y` in `<package>.x_y`.
    A group of commands is such a group in a folder of its own, where every command is a module.
    """

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, str] = COMMANDS,
        package: str = "singerlake.cli",
        **others: Any,
    ) -> None:
        super().__init__(*args, **others)
        self._table, self._package = table, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table:
            return None
        module = cmd_name.replace("-", "_")
        found: click.Command = getattr(import_module(f"{self._package}.{module}"), module)
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        names = [name for name in sorted(self._table) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self._table[name]) for name in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._table.items()))
