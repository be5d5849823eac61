"""`singerlake help`: what several commands have in common, told once."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from singerlake.cli.exit_codes import EXIT_CODES
from singerlake.cli.options import command

ARGUMENTS = """\
Commands take [ROOT] [TAP] [STREAM], in this order, as far as they are about them.

  singerlake log s3://bucket/lake                               the whole lake
  singerlake log s3://bucket/lake tap-github--meltano           a tap
  singerlake log s3://bucket/lake tap-github--meltano issues    a stream

--tap and --stream do the same. --stream may follow TAP; after --tap, a word is a ROOT.

$SINGERLAKE_ROOT stands for ROOT. Then a first word with a slash is still a ROOT, and any other
first word is a TAP: ./lake is a folder, lake is a tap. Words that are more than TAP and STREAM, or
that a command requires, are counted: the first of three words is always a ROOT.
"""

TOPICS = {
    "arguments": ARGUMENTS,
    "exit-codes": "".join(f"{code:>4}  {meaning}\n" for code, meaning in EXIT_CODES.items()),
}


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    main = context.find_root().command
    commands = main.list_commands(context) if isinstance(main, click.Group) else []
    if context.params.get("words"):
        return []
    return [CompletionItem(name) for name in [*commands, *TOPICS] if name.startswith(incomplete)]


@command()
@click.argument("words", nargs=-1, metavar="[COMMAND|TOPIC]", shell_complete=_complete)
@click.pass_context
def help(context: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command, or a topic.

    The topics are `exit-codes` and `arguments`, which are the same for all commands.

    \b
    Examples:
      singerlake help exit-codes
      singerlake help arguments
      singerlake help site build
    """
    topic = TOPICS.get(" ".join(words))
    if topic is not None:
        click.echo(topic.rstrip())
        return
    found = context.find_root()
    for word in words:
        group = found.command
        inner = group.get_command(found, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise click.UsageError(
                f"no command and no topic {' '.join(words)!r}: the topics are "
                f"{' and '.join(sorted(TOPICS))}, `singerlake --help` lists the commands"
            )
        found = click.Context(inner, info_name=word, parent=found)
    click.echo(found.get_help())
