"""`singerlake doctor`: will a lake work here, with what there is?"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from singerlake.cli.console import number, plural, print_json, print_table, say, size, table
from singerlake.cli.credentials import credentials
from singerlake.cli.name import shown
from singerlake.cli.options import Span, command, json_option
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import ConfigError, NotALake, SingerlakeError
from singerlake.format import keys as key_names
from singerlake.lake import open_on, registry
from singerlake.lake import status as statuses
from singerlake.lake.scratch import leftovers
from singerlake.lake.status import Status
from singerlake.store import Answer, LocalStore, MemoryStore, Retrying, Store, trial
from singerlake.store.meeting import Guest

PACKAGES = ("singerlake", "fsspec", "s3fs", "gcsfs", "adlfs", "pyspark", "pyarrow", "singer-sdk")
PROCESSES = 4
OTHER_HOSTS = (
    "not tried: where several hosts write to a network mount, run `singerlake doctor ROOT "
    "--meet 30` on two of them at the same time"
)
STYLES = {"ok": "green", "weak": "yellow", "failed": "bold red"}


@command()
@root_arguments()
@click.option("--read-only", is_flag=True, help="Write nothing: for those who may only read.")
@click.option(
    "--meet",
    type=Span("seconds", min_open=True),
    metavar="SECONDS",
    help="Write beside another host that runs the same command now, for so long.",
)
@json_option
@click.pass_context
def doctor(
    context: click.Context, root: Root, read_only: bool, meet: float | None, as_json: bool
) -> None:
    """Find out whether a store is fit.

    Reading, writing, listing, conditional writes, and clocks: everything that a lake at ROOT needs.
    Writes a few objects to a folder `singerlake-doctor-…` below ROOT and removes them. Lets
    processes race for one object, because a store that ignores conditions looks like one that keeps
    them until two writers meet. Whether the locks of a network mount hold between hosts, only two
    hosts can try: run it with --meet on both at the same time. Tells which credentials are found,
    never their values, and reports temporary folders that killed processes left on this machine.
    There need not be a lake yet. Exits with 1 where something does not work; `weak` alone is no
    failure.

    \b
    Examples:
      singerlake doctor s3://bucket/lake
      singerlake doctor ./lake --read-only
      singerlake doctor /mnt/lake --meet 30    # on two hosts, at the same time
      singerlake doctor ./lake --json | jq '.answers[] | select(.status != "ok")'
    """
    with progress("trying the store"):
        answers = [_temporary_files(root.store()), *_answers(root, read_only, meet)]
    versions = dict(_versions())
    found = list(credentials(root.url, root.options, os.environ, _home()))
    healthy = all(answer.status != "failed" for answer in answers)
    if as_json:
        print_json(
            {
                "root": root.store().url,
                "ok": healthy,
                "answers": [asdict(answer) for answer in answers],
                "versions": versions,
                "credentials": found,
            }
        )
    else:
        _print(root, answers, versions, found)
    context.exit(0 if healthy else 1)


def _answers(root: Root, read_only: bool, meet: float | None) -> Iterator[Answer]:
    store = root.store()
    if isinstance(store, LocalStore) and _is_missing(Path(store.url)):
        yield Answer("root", "failed", "there is no such folder: make it, or check the address")
        return
    if isinstance(store, Retrying):
        store = store.inner  # a patient wait of minutes would hide what is wrong
    yield _answer("reach", lambda: plural(len(registry.names_in(store, key_names.ROOT)), "tap"))
    yield _answer("lake", lambda: _lake(store))
    if read_only:
        return
    status = _status(store)
    if status.is_read_only:
        yield Answer("writing", "weak", f"not tried: the lake is {status}, so nothing is written")
        return
    answer = None
    for answer in trial(store, processes=None if isinstance(store, MemoryStore) else PROCESSES):
        yield answer
    if answer is None or answer.status == "failed":
        return  # what cannot be written, several cannot write
    if meet:
        yield _answer("meeting", lambda: _meeting(store, meet))
    elif isinstance(store, LocalStore):
        yield Answer("other hosts", "ok", OTHER_HOSTS)


def _status(store: Store) -> Status:
    """Why the store does not answer is told by what comes next."""
    try:
        return statuses.read(store)
    except SingerlakeError:
        return Status()


def _meeting(store: Store, seconds: float) -> str:
    mine, others = Guest(store).meet(seconds)
    if not others:
        raise ConfigError(
            "nobody else was there: run the same command on another host at the same time"
        )
    return f"{plural(mine, 'write')} of this host and {number(others)} of others, none lost"


def _is_missing(folder: Path) -> bool:
    try:
        return not folder.is_dir()
    except PermissionError:  # who may not look is told so by what comes next
        return False


def _answer(what: str, attempt: Callable[[], str]) -> Answer:
    try:
        return Answer(what, "ok", attempt())
    except SingerlakeError as error:
        return Answer(what, "failed", str(error))


def _temporary_files(store: Store) -> Answer:
    """What killed processes of this machine left: the data of other people may be in it."""
    left = leftovers()
    if isinstance(store, LocalStore):
        left += leftovers(store.own_folder)
    if not left:
        return Answer("temporary files", "ok", "no killed process left any")
    names = ", ".join(str(each.path) for each in left[:3]) + (", …" if len(left) > 3 else "")
    return Answer(
        "temporary files",
        "weak",
        f"killed processes left {plural(len(left), 'folder')} with "
        f"{size(sum(each.bytes for each in left))} ({names}): the next run that writes "
        "removes them",
    )


def _lake(store: Store) -> str:
    try:
        return f"{plural(len(open_on(store).taps()), 'tap')} in its document"
    except NotALake:
        return "none here yet: the first landing makes it"


def _home() -> Path | None:
    """None where nothing tells it: a container may run as a user that it does not know."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def _versions() -> Iterator[tuple[str, str]]:
    yield "python", platform.python_version()
    yield "platform", platform.platform()
    for package in PACKAGES:
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            yield package, "not installed"


def _print(root: Root, answers: list[Answer], versions: dict[str, str], found: list[str]) -> None:
    say(shown(root.store().url, style="bold"))
    made = table("", "what", "answer", fixed=("", "what"))
    for answer in answers:
        status: Any = Text(answer.status, style=STYLES[answer.status])
        made.add_row(status, answer.what, shown(answer.told))
    print_table(made)
    say()
    say("[bold]credentials and settings found[/]  ", shown(", ".join(found) or "none"))
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    say("[bold]versions[/]  ", shown(told))
