"""The contract of the services: how each is set up, where it listens, and what it says.

@service_command("INDEX")                # $SINGERLAKE_INDEX_LISTEN and so on, and --config FILE
@root_arguments()
@listen_options("127.0.0.1:8080")
def serve(root: Root, service: ServiceOptions) -> None:
    metrics = Metrics.create()                            # raises ConfigError without the extra
    with service.pushing(metrics):
        service.run(Service(app, service.limits, token=service.token, metrics=metrics,
                            hosts=service.hosts()))

A setting is a flag, a variable of the environment, or a key of the JSON object in `--config`; the
flag wins over the variable, the variable over the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from singerlake.cli.exit_codes import POINTER
from singerlake.cli.extra import extra_module
from singerlake.cli.options import json_option
from singerlake.errors import ConfigError
from singerlake.format.nearest import did_you_mean
from singerlake.http.host import host_of
from singerlake.http.settings import DEFAULTS, LOOPBACK, Limits, Listen, parse_listen
from singerlake.http.token import Token, read_token
from singerlake.metrics import Metrics, statsd

if TYPE_CHECKING:
    from singerlake.http.service import Service

Command = Callable[..., Any]

PACKAGES = frozenset({"httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"})
"""What the extra `http` brings."""


@dataclass(frozen=True)
class ServiceOptions:
    """What the shared options ask for."""

    listen: Listen
    limits: Limits
    token: Token | None
    statsd: statsd.Address | None
    as_json: bool

    def run(self, service: Service) -> None:
        """Serve until SIGTERM or Ctrl-C, and say where once it answers."""
        if self.listen.is_public and self.token is None:
            from singerlake.cli.console import complain

            complain(f"everybody who reaches {self.listen.host} can use this service", "Note")
        extra_module("http.server", "http", PACKAGES).serve(service, self.listen, self.announce)

    def hosts(self, public_url: str | None = None) -> Collection[str] | None:
        """The names that the service may be asked by: where it is for this machine alone and wants
        no token, those of this machine, and that of the proxy before it. None is any."""
        if self.listen.is_public or self.token is not None:
            return None
        proxy = None if public_url is None else host_of(public_url)
        return LOOPBACK | ({proxy} if proxy else frozenset())

    def pushing(self, metrics: Metrics) -> AbstractContextManager[None]:
        """Push the metrics to statsd meanwhile, if --statsd says where."""
        return nullcontext() if self.statsd is None else statsd.pushing(metrics, self.statsd)

    def announce(self, url: str) -> None:
        """The one line on stdout, for people and for scripts that wait for it."""
        line = json.dumps({"url": url}) if self.as_json else f"listening on {url}"
        click.echo(line)


def service_command(name: str) -> Callable[[Command], click.Command]:
    """As `command`, with variables `SINGERLAKE_<NAME>_…` for all options, and --config."""

    def decorate(function: Command) -> click.Command:
        made = click.command(
            epilog=POINTER, context_settings={"auto_envvar_prefix": f"SINGERLAKE_{name}"}
        )
        return made(_config_option(function))

    return decorate


def _read_config(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    """The file's settings become defaults: flags and variables win over them."""
    if value is None:
        return
    try:
        found = json.loads(value.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{value}: expected a JSON object of settings: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{value}: expected a JSON object of settings")
    flags = {
        flag.removeprefix("--"): str(option.name)
        for option in context.command.params
        if isinstance(option, click.Option) and option.name != "config"
        for flag in option.opts
        if flag.startswith("--")
    }
    for key in found:
        if key not in flags:
            meant = did_you_mean(key, flags)
            raise ConfigError(f"{value}: the setting {key!r} is unknown.{meant}")
    context.default_map = {flags[key]: setting for key, setting in found.items()}


_config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    metavar="FILE",
    help="A JSON object of settings, named as the options here without dashes in front.",
)


def listen_options(default: str) -> Callable[[Command], Command]:
    """--listen and what goes with it; the command gets them as `service`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(
            *args: Any,
            listen: str,
            tls_certificate: Path | None,
            tls_key: Path | None,
            token_file: Path | None,
            request_seconds: float,
            connections: int,
            statsd_address: str | None,
            as_json: bool,
            **given: Any,
        ) -> Any:
            host, port = parse_listen(listen)
            prefix = click.get_current_context().auto_envvar_prefix
            options = ServiceOptions(
                Listen(host, port, tls_certificate, tls_key),
                replace(DEFAULTS, request_seconds=request_seconds, connections=connections),
                read_token(token_file, f"{prefix}_TOKEN"),
                None if statsd_address is None else statsd.parse(statsd_address),
                as_json,
            )
            return command(*args, service=options, **given)

        decorated: Command = run
        for option in _options(default):
            decorated = option(decorated)
        return decorated

    return decorate


def _options(listen: str) -> list[Callable[[Command], Command]]:
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    return [
        json_option,
        click.option(
            "--statsd",
            "statsd_address",
            metavar="HOST:PORT",
            help="Push the metrics there too, over UDP, every ten seconds.",
        ),
        click.option(
            "--connections",
            type=click.IntRange(min=1),
            default=DEFAULTS.connections,
            show_default=True,
            metavar="N",
            help="How many connections may be open at once.",
        ),
        click.option(
            "--request-seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=DEFAULTS.request_seconds,
            show_default=True,
            metavar="SECONDS",
            help="How long a request may take until its answer begins.",
        ),
        click.option(
            "--token-file",
            type=file,
            metavar="FILE",
            help="Answer only those who send the token in FILE, as `Authorization: Bearer …`; or "
            "put the token itself into the variable whose name ends in _TOKEN.",
        ),
        click.option(
            "--tls-key",
            type=file,
            metavar="FILE",
            help="The certificate's key, if another file holds it.",
        ),
        click.option(
            "--tls-certificate",
            type=file,
            metavar="FILE",
            help="Serve HTTPS with this certificate, in PEM.",
        ),
        click.option(
            "--listen",
            default=listen,
            show_default=True,
            metavar="HOST:PORT",
            help="The address to serve at; port 0 takes a free one.",
        ),
    ]
