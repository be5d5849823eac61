"""The documents of a tap's runs in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import run as runs
from singerlake.format import run_keys, times
from singerlake.format.run import RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import RunLog
from singerlake.lake.commit import create_anew
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store


def create(store: Store, keys: RunKeys, run: RunDocument) -> None:
    """Write a run's document, which nobody else writes: what lies there is ours."""
    create_anew(store, keys.under(run.name), runs.encode(run))


def read(store: Store, keys: RunKeys, name: str) -> tuple[RunDocument, str]:
    """A document and its version. Raises `NotFound` and `CorruptDocument`."""
    stored = store.read(keys.under(name))
    where = f"{store.url}/{keys.under(name)}"
    run = runs.decode(stored.data, where)
    if (run.tap_id, run.name) != (keys.tap_id, name):
        raise CorruptDocument(
            f"{where}: expected the document of a run of {keys.tap_id!r} under its own name, found "
            f"that of {run.tap_id!r} which belongs at {run.name!r}; put it back where it belongs"
        )
    return run, stored.version


def read_each(
    store: Store, keys: RunKeys, names: Iterable[str]
) -> Iterator[tuple[str, RunDocument | CorruptDocument]]:
    """Each document that is there, or what is wrong with it, in the order of the names."""

    def look(name: str) -> tuple[str, RunDocument | CorruptDocument | None]:
        try:
            return name, read(store, keys, name)[0]
        except NotFound:
            return name, None
        except CorruptDocument as error:
            return name, error

    for name, found in in_parallel(look, names):
        if found is not None:
            yield name, found


def read_all(store: Store, keys: RunKeys, names: Iterable[str]) -> list[RunDocument]:
    """The documents that are there and can be read, in the order of the names."""
    found = read_each(store, keys, names)
    return [run for _, run in found if isinstance(run, RunDocument)]


def names(store: Store, keys: RunKeys, after: str = "") -> Iterator[str]:
    """The names of the documents that sort after this one."""
    for listed in store.list_folder(keys.folder, after):
        name = listed.key.removeprefix(f"{keys.folder}/")
        item = run_keys.parse(keys.tap_id, [name])
        if item is not None and item.kind == "run":
            yield name


def unlogged(store: Store, keys: RunKeys, log: RunLog) -> list[str]:
    """The names of documents that have no row, among the runs that began after all sealed ones.

    One LIST of about as many names as the log has rows of its own, however many runs there were.
    A run that began before a sealed one and crashed between its two puts waits for `check --fix`.
    """
    sealed = log.newest_sealed
    # Names of the same moment are passed over too: "~" sorts after all that a name holds.
    after = "" if sealed is None else f"{times.stamp(sealed)}~"
    logged = {row.document for row in log.rows}
    return [name for name in names(store, keys, after) if name not in logged]
