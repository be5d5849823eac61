"""`singerlake process resume`."""

from __future__ import annotations

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command, key_argument, state_as_json
from singerlake.cli.process.why import explained
from singerlake.errors import ConfigError
from singerlake.processor import Engine


@engine_command
@key_argument
def resume(engine: Engine, key: str, as_json: bool) -> None:
    """Have a paused key go on.

    Where a dead letter holds the key too, it goes on holding it; a second resume goes past it.
    A key that stands still because its stream has a new log goes on with that log, from its
    beginning.

    \b
    Examples:
      singerlake process resume tap-github--meltano/issues
    """
    if not engine.resume(key):
        raise ConfigError(f"key {key!r} is not paused; `singerlake process why {key}` says more")
    state = engine.look(key)
    if as_json:
        print_json(state_as_json(state))
    elif state.status == "paused":
        say("the pause is over, and the key waits all the same: ", shown(explained(state)))
    else:
        say("resumed ", shown(key))
