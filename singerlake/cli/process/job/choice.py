"""The jobs in the box: what a processor of the command line runs for each event."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import click

from singerlake.cli.jobs import spark_module, spark_session
from singerlake.cli.process.job.command import CommandJob
from singerlake.cli.process.job.webhook import webhook
from singerlake.cli.root import Root
from singerlake.errors import ConfigError, Later
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake
from singerlake.lake import vacuum as core
from singerlake.lake.vacuum import VacuumOptions
from singerlake.processor import Event, LakeSource, Processor
from singerlake.projection.document import Settings
from singerlake.runtime import REAL


@dataclass(frozen=True)
class Made:
    """A job that is ready to run; `coalesce` is its default."""

    name: str
    job: Any
    coalesce: bool = False
    close: Callable[[], None] = lambda: None


def made(lake: Lake, root: Root, job: str | None, command: Sequence[str] | None) -> Made:
    """The job that --job, or the words after --, ask for."""
    if command:
        if job is not None:
            raise click.UsageError("--job and a COMMAND after -- are two jobs: give one of them")
        running = CommandJob(list(command))
        return Made(Path(command[0]).name, running.process_event, close=running.close)
    if job is None:
        raise click.UsageError("Missing option --job, or -- and a COMMAND.")
    kind, _, rest = job.partition(":")
    if job == "vacuum":
        return Made(job, _vacuum(lake), coalesce=True)
    if kind == "project":
        return _project(root, rest)
    if kind == "webhook":
        return Made("webhook", webhook(rest))
    return Made(job, _loaded(job))


def every(job: Any, seconds: float) -> Callable[[Event], Any]:
    """At most one call in so many seconds for a key: the event waits until then."""
    call = getattr(job, "process_event", job)

    def process_event(event: Event) -> Any:
        now = REAL.now().timestamp()
        last = (event.state or {}).get("last", 0.0) if isinstance(event.state, dict) else 0.0
        if now < last + seconds:
            raise Later(last + seconds - now)
        found = call(event)
        event.keep({"last": now})
        return found

    return process_event


def stop_when_idle(processor: Processor, source: LakeSource) -> None:
    """End the processor after a poll that found nothing, once no event waits.

    Another processor may be the one that polls. Each of its polls puts the event back until another
    moment: with the third of these a poll has begun and ended since this processor watches.
    """

    def watch() -> None:
        engine, moments = processor.engine, set[float]()
        while not engine.runtime.wait(processor.stopping, 0.2):
            polled = engine.look(source.key)
            if polled.status == "waits" and polled.until is not None:
                moments.add(polled.until)
            at_work = (
                state.waiting and state.status != "paused"
                for state in engine.states()
                if state.key != source.key
            )
            if (source.polls > 1 or len(moments) > 2) and not any(at_work):
                processor.stop()

    processor.engine.runtime.start(watch, "singerlake-until-idle")


def _vacuum(lake: Lake) -> Callable[[Event], None]:
    def vacuum(event: Event) -> None:
        keys = StreamKeys(event.value["tap"], event.value["stream"])
        core.vacuum(lake.store, keys, VacuumOptions())

    return vacuum


def _project(root: Root, rest: str) -> Made:
    """`OUT?mode=current&format=parquet`. The projection keeps its own place in the log, and
    publishes it with the data: each record once, however often an event comes."""
    out, _, query = rest.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if not out or set(given) - {"mode", "format"} or not all(given.values()):
        raise ConfigError(
            f"--job project:{rest}: expected project:OUT, or "
            "project:OUT?mode=current&format=parquet"
        )
    settings = Settings(format=given.get("format", "parquet"), mode=given.get("mode", "append"))
    module = spark_module("project")
    spark = spark_session("singerlake process", None, ())  # here: it asks for the command's options

    def project(event: Event) -> None:
        value = event.value
        module.project(
            spark,
            root.url,
            out,
            value["tap"],
            value["stream"],
            settings,
            storage_options=root.options,
            out_options=root.options,
        )

    return Made("project", project, coalesce=True)


def _loaded(name: str) -> Any:
    """`module:function` from the working directory or what is installed; a class is made."""
    module, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise ConfigError(
            f"--job {name}: expected vacuum, project:OUT, webhook:URL or MODULE:FUNCTION"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the user's own code raises as it is loaded
        raise ConfigError(f"--job {name}: {type(error).__name__}: {error}") from error
    return found() if isinstance(found, type) else found
