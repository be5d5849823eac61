"""`singerlake completion`: the script that makes a shell complete our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from singerlake.cli.options import command

SHELLS = ("bash", "zsh", "fish")


@command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete this.

    With it, SHELL completes commands, options, and the names of taps and streams.

    \b
    Examples:
      eval "$(singerlake completion bash)"                         # in ~/.bashrc
      eval "$(singerlake completion zsh)"                          # in ~/.zshrc
      singerlake completion fish > ~/.config/fish/completions/singerlake.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    main = context.find_root().command
    click.echo(made(main, {}, "singerlake", "_SINGERLAKE_COMPLETE").source())
