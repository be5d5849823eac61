"""Documents whose every value an enemy chose, with checksums that fit.

A checksum keeps nobody out who can write it: what stands in a row is held against the spec before
it is compared, added up or counted to.
"""

from __future__ import annotations

import copy
import gzip
import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import msgspec

from singerlake.errors import SingerlakeError
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.lake import log
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore
from tests.faults.hostile_enemy import Readers
from tests.faults.hostile_readers import Found
from tests.faults.truth import Violation
from tests.lake.landing import KEYS, TAP, land, land_each

MORE_MEMORY = 4 << 30
"""Of addresses, beyond what the process has: threads reserve much that they never touch."""

GONE = object()
WILD = (
    *(GONE, None, True, "", "x", "\ud800", "a\nb\x1b[31m<b>", "../../../x"),
    *(-1, 0, 1, 3, 2**31, 2**53, 2**63 - 1, 2**64, 10**30, 1.5, 1e308),
    *([], {}, ["x"], {"a": 1}),
    *("2026-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    *("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"),
)
"""What may stand in the place of any value; `GONE` takes the key away."""

Place = tuple[str | int, ...]
Row = dict[str, Any]


class Case(NamedTuple):
    """One value of one kind of document, and what the enemy puts there."""

    kind: str
    place: Place
    value: Any


@dataclass(frozen=True)
class Ground:
    """A lake that has every kind of document, and what stands in them."""

    root: Path
    rows: list[Row]

    def body(self, key: str) -> Any:
        return json.loads((self.root / key).read_bytes())

    @property
    def segment(self) -> str:
        return str(self.body(KEYS.manifest)["segments"][-1]["path"])

    @property
    def merged(self) -> int:
        return next(at for at, row in enumerate(self.rows) if "merge" in row)

    @property
    def merge(self) -> str:
        return str(self.rows[self.merged]["merge"]["path"])

    @property
    def lines(self) -> list[Any]:
        data = (self.root / KEYS.under(self.rows[-1]["path"])).read_bytes()
        return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def ground(folder: Path) -> Ground:
    root = folder / "lake"
    store = LocalStore(root)
    with mock.patch.object(manifests, "FAN_OUT", 1):
        land_each(store, range(2))
        land(store, range(2, 5))
        land(store, range(5, 8))
        vacuum(store, KEYS, replace(VacuumOptions(), target_bytes=1 << 20))
        for number in range(8, 11):
            land(store, [number])
    files = log.files(store, KEYS, log.read_head(store, KEYS).manifest)
    return Ground(root, [msgspec.to_builtins(file) for file in files])


def _to_a_manifest(found: Ground, root: Path, body: Any) -> None:
    _write(root, KEYS.manifest, body)


def _to_a_segment(found: Ground, root: Path, body: Any) -> None:
    _write(root, KEYS.under(found.segment), body)
    manifest = found.body(KEYS.manifest)
    manifest["segments"][-1]["checksum"] = log.checksum(_bytes(body))
    _write(root, KEYS.manifest, manifest)


def _to_a_merge(found: Ground, root: Path, body: Any) -> None:
    _write(root, KEYS.under(found.merge), body)
    row = copy.deepcopy(found.rows[found.merged])
    row["merge"]["checksum"] = log.checksum(_bytes(body))
    _to_row(found, root, found.merged, row)


def _to_a_merged_row(found: Ground, root: Path, body: Any) -> None:
    _to_row(found, root, found.merged, body)


def _to_a_row(found: Ground, root: Path, body: Any) -> None:
    _to_row(found, root, len(found.rows) - 1, body)


def _to_row(found: Ground, root: Path, at: int, row: Any) -> None:
    """All rows stand in the manifest then."""
    manifest = found.body(KEYS.manifest)
    rows = [row if number == at else other for number, other in enumerate(found.rows)]
    _write(root, KEYS.manifest, {**manifest, "segments": [], "files": rows})


def _to_lines(found: Ground, root: Path, body: Any) -> None:
    raw = b"".join(_bytes(line) for line in body) if isinstance(body, list) else _bytes(body)
    data = gzip.compress(raw, mtime=0)
    row = found.rows[-1]
    (root / KEYS.under(row["path"])).write_bytes(data)
    sizes = {"bytes": len(data), "raw_bytes": len(raw), "checksum": log.checksum(data)}
    _to_row(found, root, len(found.rows) - 1, {**row, **sizes})


class Kind(NamedTuple):
    """What stands there now, and how another is written, with all that has to agree with it."""

    read: Callable[[Ground], Any]
    write: Callable[[Ground, Path, Any], None]


KINDS = {
    "manifest": Kind(lambda found: found.body(KEYS.manifest), _to_a_manifest),
    "segment": Kind(lambda found: found.body(KEYS.under(found.segment)), _to_a_segment),
    "merge document": Kind(lambda found: found.body(KEYS.under(found.merge)), _to_a_merge),
    "row of a merged file": Kind(lambda found: found.rows[found.merged], _to_a_merged_row),
    "row of a file": Kind(lambda found: found.rows[-1], _to_a_row),
    "lines of a file": Kind(lambda found: found.lines, _to_lines),
    "catalogue": Kind(
        lambda found: found.body(key_names.catalogue(TAP)),
        lambda _, root, body: _write(root, key_names.catalogue(TAP), body),
    ),
    "lake document": Kind(
        lambda found: found.body(key_names.LAKE_DOCUMENT),
        lambda _, root, body: _write(root, key_names.LAKE_DOCUMENT, body),
    ),
}


def _bytes(body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


def _write(root: Path, key: str, body: Any) -> None:
    """Without a seal: it would not fit, and a document without one is read."""
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "document_checksum"}
    (root / key).write_bytes(_bytes(body))


def cases(found: Ground, kind: str) -> list[Case]:
    """Every value of a document, by every wild one."""
    places = list(_places(KINDS[kind].read(found)))
    return [
        Case(kind, place, value) for place in places for value in WILD if place or value != GONE
    ]


def _places(node: Any, at: Place = ()) -> Iterator[Place]:
    yield at
    if isinstance(node, dict):
        for name in node:
            yield from _places(node[name], (*at, name))
    elif isinstance(node, list):
        for number in range(min(len(node), 3)):
            yield from _places(node[number], (*at, number))


def put(body: Any, place: Place, value: Any) -> Any:
    """The document with another value in one place."""
    if not place:
        return value
    changed = copy.deepcopy(body)
    node = changed
    for step in place[:-1]:
        node = node[step]
    if value is GONE:
        del node[place[-1]]
    else:
        node[place[-1]] = value
    return changed


def withstood(found: Ground, case: Case, readers: Readers, folder: Path) -> int:
    """Have each reader read what the enemy wrote; returns how many did. Raises `Violation`."""
    root = folder / "lake"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(found.root, root)
    kind = KINDS[case.kind]
    kind.write(found, root, put(kind.read(found), case.place, case.value))
    for name, read in readers.items():
        try:
            with _bounded():
                read(root)
        except (SingerlakeError, Found):
            pass
        except MemoryError as error:
            raise Violation(f"UNBOUNDED: {name}, for {case}") from error
        except Exception as error:
            raise Violation(f"UNFORESEEN {type(error).__name__} by {name}, for {case}") from error
    return len(readers)


@contextmanager
def _bounded() -> Iterator[None]:
    """Within so much more memory, where the system keeps to it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except FileNotFoundError:
        pages = 0
    most = pages * resource.getpagesize() + MORE_MEMORY
    resource.setrlimit(
        resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
