"""`singerlake du`: what the lake takes up in the store."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from singerlake.cli.console import number, plural, print_json, print_table, say, size, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import counted, progress
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import SingerlakeError
from singerlake.format import keys as key_names
from singerlake.format.keys import RunObject, StreamKeys, StreamObject, TapObject
from singerlake.lake import log, unknown
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store

Place = tuple[str | None, str | None]
"""A tap and its stream; None for what is not a stream's, or not a tap's."""


@dataclass
class _Usage:
    """`live` is what the manifest's files have, None where it cannot be told; `files` the bytes of
    files of any kind."""

    objects: int = 0
    bytes: int = 0
    live: int | None = 0
    files: int = 0

    def add(self, size: int, is_file: bool) -> None:
        self.objects += 1
        self.bytes += size
        self.files += size if is_file else 0


@command()
@root_arguments(optional=("tap", "stream"))
@json_option
def du(root: Root, tap: str | None, stream: str | None, as_json: bool) -> None:
    """Show what each stream takes up.

    Its objects and bytes, the largest first. Counts what lies in the store. `live` is what readers
    see, and `files` are the files of any kind that records name; the rest is documents, files that
    `vacuum` replaced and `vacuum --purge` will remove, and left-overs that `check` finds.

    \b
    Examples:
      singerlake du ./lake
      singerlake du s3://bucket/lake tap-github--meltano
      singerlake du ./lake --json | jq '.streams[0]'
    """
    store = root.lake().store
    usage = _measured(store, tap, stream)
    total = _Usage()
    for one in usage.values():
        total.objects += one.objects
        total.bytes += one.bytes
        total.files += one.files
        total.live = None if total.live is None or one.live is None else total.live + one.live
    rows = sorted(usage.items(), key=lambda item: -item[1].bytes)
    if as_json:
        streams = [{"tap_id": place[0], "stream": place[1], **vars(one)} for place, one in rows]
        print_json({"root": store.url, "streams": streams, "total": vars(total)})
    else:
        _print(rows, total)


def _measured(store: Store, tap: str | None, stream: str | None) -> dict[Place, _Usage]:
    usage: dict[Place, _Usage] = {}
    known: set[str] = set()
    folder = key_names.ROOT if tap is None else key_names.tap_folder(tap)
    with progress("listing") as bar:
        for listed in counted(store.list(folder), 0, bar):
            place = _place(listed.key)
            if place[1] is not None:
                known.add(place[1])
            if stream in (None, place[1]):
                usage.setdefault(place, _Usage()).add(listed.size, _is_file(listed.key))
    if not usage and stream is not None and (known or tap is None):
        raise unknown.unknown_stream(store.url, stream, known, tap)
    if not usage and tap is not None:
        raise unknown.missing_tap(store, tap)
    streams = [StreamKeys(tap_id, name) for tap_id, name in usage if tap_id and name]
    with progress("reading manifests") as bar:
        found = in_parallel(lambda keys: (keys, _live(store, keys)), streams)
        for keys, live in counted(found, len(streams), bar):
            usage[keys.tap_id, keys.stream].live = live
    return usage


def _place(key: str) -> Place:
    item = key_names.parse(key)
    if isinstance(item, StreamObject):
        return item.keys.tap_id, item.keys.stream
    return (item.tap_id, None) if isinstance(item, TapObject | RunObject) else (None, None)


def _is_file(key: str) -> bool:
    item = key_names.parse(key)
    return isinstance(item, StreamObject) and item.kind == "blob"


def _live(store: Store, keys: StreamKeys) -> int | None:
    try:
        return log.totals(store, keys).bytes
    except SingerlakeError:
        return None


def _print(rows: list[tuple[Place, _Usage]], total: _Usage) -> None:
    numbers = ("objects", "size", "live", *(("files",) if total.files else ()))
    made = table("tap", "stream", *numbers, numbers=numbers)
    for (tap, stream), one in rows:
        made.add_row(
            _named(tap, "(the lake)"), _named(stream, "(documents)"), *_counts(one)[: len(numbers)]
        )
    print_table(made, drop=("files", "live", "objects"))
    say(f"{plural(total.objects, 'object')}, {size(total.bytes)} in all")


def _named(name: str | None, otherwise: str) -> Text:
    return Text(otherwise, style="dim") if name is None else shown(name)


def _counts(one: _Usage) -> tuple[str, ...]:
    live = "?" if one.live is None else size(one.live)
    return number(one.objects), size(one.bytes), live, size(one.files)
