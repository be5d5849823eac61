"""Every command of `singerlake`, from click."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
from text import code, prose, table

from singerlake.cli import main
from singerlake.cli.exit_codes import EXIT_CODES

_NAME = "singerlake"


def page() -> str:
    root = click.Context(main, info_name=_NAME, terminal_width=100, max_content_width=100)
    parts = [
        "# Commands\n\nMade from the code: the same as `--help` tells. All commands have the same "
        "[exit codes](#exit-codes).\n\n"
    ]
    parts += [_described(main, root, 2), *_below(main, root), _exit_codes()]
    return "".join(parts)


def _exit_codes() -> str:
    rows = [[code(str(number)), prose(meaning)] for number, meaning in EXIT_CODES.items()]
    return "## Exit codes\n\n" + table(["code", "meaning"], rows)


def _below(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield _described(command, inner, 2)
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def _described(command: click.Command, context: click.Context, level: int) -> str:
    usage = context.command.get_usage(context).removeprefix("Usage: ")
    # click wraps a long usage: in a code block one line is clearer.
    usage = " ".join(usage.split())
    parts = [f"{'#' * level} {context.command_path}\n\n", f"```text\n{usage}\n```\n\n"]
    parts.append(_help(command.help or ""))
    parts.append(_parameters(command, context))
    if isinstance(command, click.Group):
        parts.append(_commands(command, context))
    if command.epilog and (context.parent is None or command.epilog != main.epilog):
        parts.append(_help(command.epilog))
    return "".join(parts)


def _help(text: str) -> str:
    """Paragraphs; one that begins with click's `\\b` is kept as it is."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.partition("\f")[0].strip()):
        first, _, rest = paragraph.partition("\n")
        if first.strip() != "\b":
            parts.append(prose(" ".join(paragraph.split())) + "\n\n")
            continue
        title, _, lines = rest.partition("\n")
        if lines and title.rstrip().endswith(":"):
            parts.append(prose(title.strip()) + "\n\n")
        else:
            lines = rest
        parts.append("```sh\n" + _dedented(lines) + "\n```\n\n")
    return "".join(parts)


def _dedented(text: str) -> str:
    lines = text.rstrip().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _parameters(command: click.Command, context: click.Context) -> str:
    rows = []
    for one in command.get_params(context):
        if getattr(one, "hidden", False) or "--help" in one.opts:
            continue
        if isinstance(one, click.Option) or _meaning(one):  # the usage has the arguments' names
            rows.append([_names(one, context), _meaning(one), _default(one)])
    return table(["", "meaning", "default"], rows) if rows else ""


def _names(one: click.Parameter, context: click.Context) -> str:
    if isinstance(one, click.Argument):
        return code(one.make_metavar(context))
    names = ", ".join(code(name) for name in (*one.opts, *one.secondary_opts))
    if isinstance(one.type, click.Choice) or getattr(one, "is_flag", False):
        return names
    return f"{names} {code(one.make_metavar(context))}"


def _meaning(one: click.Parameter) -> str:
    text = getattr(one, "help", None) or ""
    parts = [prose(text)]
    if isinstance(one.type, click.Choice):
        parts.append("One of " + ", ".join(code(str(choice)) for choice in one.type.choices))
    names = [one.envvar] if isinstance(one.envvar, str) else one.envvar or []
    if names and not any(name in text for name in names):
        parts.append("Also from " + ", ".join(code(f"${name}") for name in names))
    if getattr(one, "multiple", False) and "repeatable" not in text:
        parts.append("Repeatable")
    if one.required:
        parts.append("Required")
    return " ".join(part if part.endswith((".", "…")) else f"{part}." for part in parts if part)


def _default(one: click.Parameter) -> str:
    value: Any = one.to_info_dict().get("default")
    if getattr(one, "is_flag", False) or not isinstance(value, (str, int, float)) or value == "":
        return ""
    return code(str(value))


def _commands(group: click.Group, context: click.Context) -> str:
    rows = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        path = f"{context.command_path} {name}"
        rows.append([f"[{name}](#{_anchor(path)})", prose(command.get_short_help_str(200))])
    return table(["command", ""], rows) if rows else ""


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-")
