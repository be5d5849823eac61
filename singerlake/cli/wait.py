"""`singerlake wait`: until several things have arrived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import click
from rich.live import Live
from rich.table import Table

from singerlake.cli.awaited import parse_word, split_root
from singerlake.cli.console import complain, is_terminal, moment, output, print_json, say, table
from singerlake.cli.events.database import PACKAGES, PatientInbox, database_option, open_waits
from singerlake.cli.extra import extra_module
from singerlake.cli.name import shown
from singerlake.cli.options import Span, command, json_option, time_option
from singerlake.cli.root import Root, reach_options
from singerlake.cli.storage_options import options_of
from singerlake.errors import ConfigError, DamageError, SingerlakeError, StoreError, Unavailable
from singerlake.lake import FeedOptions, Lake, unknown
from singerlake.runtime import REAL
from singerlake.wait.event import Awaited, HttpEvent, LakeCommit, LakeRun
from singerlake.wait.need import ALL, ANY, Need
from singerlake.wait.source.base import Source
from singerlake.wait.source.lake import LakeSource
from singerlake.wait.waiter import Progress, Standing, Wait, Waiter, given_up
from singerlake.wait.window import parse, parse_offset

STYLES = {"received": "green", "missed": "red", "waiting": "yellow"}


@command()
@click.argument("words", nargs=-1, metavar="[ROOT] TAP[/STREAM][@SEQUENCE]…")
@click.option("--http", "posts", multiple=True, metavar="NAME", help="A post to this event, too.")
@click.option("--window", "frequency", metavar="H|D|W|M|Q|Y", help="Of this hour, day, week …")
@click.option("--zone", default="UTC", show_default=True, help="The window's IANA time zone.")
@click.option("--offset", default="", metavar="-2h", help="Moves the window on the wall clock.")
@time_option("--since", "What ended from this time on (UTC) counts.")
@click.option("--timeout", metavar="2h", help="Give up after so long; never, by default.")
@click.option("--any", "is_any", is_flag=True, help="Until one of them is there.")
@click.option("--at-least", type=int, metavar="N", help="Until so many of them are there.")
@click.option(
    "--name", metavar="NAME", help="Have `singerlake events status` show the wait under this name."
)
@click.option(
    "--every",
    type=Span("seconds", min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look: one request for each tap or stream that did not change.",
)
@database_option
@json_option
@reach_options
def wait(
    words: tuple[str, ...],
    posts: tuple[str, ...],
    frequency: str | None,
    zone: str,
    offset: str,
    since: datetime | None,
    timeout: str | None,
    is_any: bool,
    at_least: int | None,
    name: str | None,
    every: float,
    database: str | None,
    as_json: bool,
    storage_options: str | None,
    pairs: tuple[str, ...],
) -> None:
    """Wait until several things have arrived.

    TAP is a run of the tap that ends complete; TAP/STREAM such a run that has the stream;
    TAP/STREAM@7 the commit of that number. Without --window and --since, a run counts that ends
    after this command began. With --window D, it counts when it ended today, also before this
    command began. --http waits for a post to `singerlake events serve`, or for
    `singerlake events mark NAME`.

    Exits with 0 once everything is there, and with 1 at the --timeout, which names what is missing;
    with 3 where the lake is damaged then, with 5 where it does not answer then.

    \b
    Examples:
      singerlake wait ./lake tap-shop--sample
      singerlake wait ./lake tap-shop--sample/orders tap-crm--meltano --timeout 2h
      singerlake wait s3://bucket/lake tap-shop--sample/orders --window D --zone Europe/Berlin
      singerlake wait ./lake tap-shop--sample --http partner-file --any
    """
    # A post comes without a lake.
    url, rest = split_root(words) if words or not posts else (None, [])
    window = parse(frequency, zone, offset) if frequency else None
    if window is None and (zone != "UTC" or offset):
        raise click.UsageError("--zone and --offset move the boundaries of a --window: give one")
    if window is not None and since is not None:
        raise click.UsageError("--window and --since both say what counts: give only one of them")
    events = [parse_word(word, window, since) for word in rest]
    events += [HttpEvent(name=name, post=name, window=window, since=since) for name in posts]
    opened = _opener(Root(str(url), options_of(storage_options, pairs)), events) if rest else None
    now = REAL.now()
    # Without a window nothing else tells two waits of one name apart.
    begun = "" if window else f" {now:%Y-%m-%dT%H:%M:%SZ}"
    wanted = Wait(
        name=f"{name or 'command'}{begun}",
        events=tuple(events),
        at=now,
        need=_need(is_any, at_least),
        deadline=_deadline(timeout),
    )
    noted = _table_of(wanted, database) if name else None
    with _sources(opened, bool(posts), database, every) as sources:
        _report(_wait(Waiter(wanted, sources), every, as_json, noted), as_json)


def _need(is_any: bool, at_least: int | None) -> Need:
    if is_any and at_least is not None:
        raise click.UsageError("--any is --at-least 1: give only one of them")
    return ANY if is_any else ALL if at_least is None else Need(at_least=at_least)


def _deadline(timeout: str | None) -> datetime | None:
    if timeout is None:
        return None
    seconds = parse_offset(timeout)
    if seconds <= 0:
        raise ConfigError(f"expected a time-out such as 2h, 30m or 1d, found {timeout!r}")
    try:
        return REAL.now() + timedelta(seconds=seconds)
    except OverflowError:
        raise ConfigError(f"expected a time-out that a calendar holds, found {timeout!r}") from None


def _table_of(wanted: Wait, database: str | None) -> Callable[[Progress], None]:
    """Writes how the wait stands. The database may be away: then the table is behind."""
    mirrors = extra_module("wait.status.mirror", "wait", PACKAGES)
    mirror: Any = None
    is_away = False

    def write(progress: Progress) -> None:
        nonlocal mirror, is_away
        try:
            mirror = mirror or mirrors.Mirror(open_waits(database).store(), wanted)
            ended = progress.is_done or progress.is_over
            mirror.show(given_up(progress.standings) if ended else progress.standings)
            is_away = False
        except Unavailable as error:
            if not is_away:
                complain(_text(error))
            is_away = True

    return write


def _opener(root: Root, events: Iterable[Awaited]) -> Callable[[str], Lake]:
    """Opens the lake of all events. What is no lake is wrong use; a store that is away may come
    back until the deadline."""
    lake: Lake | None = None
    try:
        lake = root.lake()
    except Unavailable as error:
        complain(_text(error))
    else:
        _warn_of_unknown(lake, events)
    return lambda url: root.lake() if lake is None else lake


def _warn_of_unknown(lake: Lake, events: Iterable[Awaited]) -> None:
    """What is not there yet may be awaited, and a slip of the pen has to show."""
    for event in events:
        if isinstance(event, (LakeRun, LakeCommit)):
            streams = event.streams if isinstance(event, LakeRun) else (event.stream,)
            try:
                _require(lake, event.tap, streams)
            except ConfigError as error:
                complain(f"{error} (it is waited for)", "Warning")
            except (StoreError, DamageError) as error:
                complain(_text(error))


def _require(lake: Lake, tap: str, streams: Iterable[str]) -> None:
    """Raises `UnknownTap` and `UnknownStream`."""
    known = lake.tap(tap).catalogue()
    for stream in set(streams) - known.keys():
        raise unknown.unknown_stream(lake.store.url, stream, known, tap)


@contextmanager
def _sources(
    opened: Callable[[str], Lake] | None, has_posts: bool, database: str | None, every: float
) -> Iterator[dict[str, Source]]:
    sources: dict[str, Any] = {}
    if opened is not None:
        options = FeedOptions(poll_seconds=every, idle_seconds=every)
        source = LakeSource(opened, options)
        sources = {"lake-run": source, "lake-commit": source}
    if has_posts:
        sources["http"] = PatientInbox(database)
    try:
        yield sources
    finally:
        for one in sources.values():
            one.close()


def _wait(
    waiter: Waiter, every: float, as_json: bool, note: Callable[[Progress], None] | None
) -> Progress:
    with _shown(as_json) as show:
        while True:
            progress = waiter.look()
            show(progress)
            if note is not None:
                note(progress)
            if progress.is_done or progress.is_over:
                return progress
            left = every
            if waiter.wait.deadline is not None:
                left = (waiter.wait.deadline - REAL.now()).total_seconds()
            REAL.wait(threading.Event(), min(every, max(left, 0.0)))


@contextmanager
def _shown(as_json: bool) -> Iterator[Callable[[Progress], None]]:
    """A live table on a terminal; a line for each error elsewhere."""
    if as_json:
        yield lambda progress: None
    elif is_terminal():
        with Live(console=output(), refresh_per_second=2, transient=True) as live:
            yield lambda progress: live.update(_table(progress))
    else:
        said: set[str] = set()

        def say_new(progress: Progress) -> None:
            for one in progress.standings:
                if one.error is not None and (text := _text(one.error)) not in said:
                    said.add(text)
                    complain(text, one.event.title)

        yield say_new


def _table(progress: Progress) -> Table:
    made = table("event", "window", "state", "time", "what")
    for one in progress.standings:
        arrival = one.arrival
        made.add_row(
            shown(one.event.title),
            shown(one.span.name),
            shown(one.state, STYLES[one.state]),
            "" if arrival is None else moment(arrival.time),
            shown(arrival.text if arrival else _text(one.error) if one.error else ""),
        )
    return made


def _text(error: SingerlakeError) -> str:
    return f"{type(error).__name__}: {error}"


def _report(progress: Progress, as_json: bool) -> None:
    if as_json:
        print_json({"done": progress.is_done, "events": list(map(_as_json, progress.standings))})
    else:
        output().print(_table(progress))
    if progress.is_done:
        return
    names = ", ".join(one.event.title for one in progress.missing)
    if not as_json:
        say("missing at the deadline: ", shown(names))
    errors = [one.error for one in progress.missing if one.error is not None]
    click.get_current_context().exit(_code(errors))


def _code(errors: list[SingerlakeError]) -> int:
    for kind, code in ((DamageError, 3), (StoreError, 5)):
        if any(isinstance(error, kind) for error in errors):
            return code
    return 1


def _as_json(one: Standing) -> dict[str, Any]:
    arrival = one.arrival
    return {
        "event": one.event.title,
        "window": one.span.name or None,
        "state": one.state,
        "time": None if arrival is None else arrival.time,
        "position": None if arrival is None else arrival.position,
        "error": None if one.error is None else _text(one.error),
    }
