"""Bad input and damage: each has its own error, which says what to do, and changes nothing."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from singerlake import Lake, WriterOptions, check, open_lake, rebuild
from singerlake.errors import (
    BadLocation,
    BadMessage,
    BadName,
    CorruptDocument,
    CorruptFile,
    InputError,
    MissingFile,
    MissingManifest,
    NotALake,
    PermissionDenied,
    SchemaCollision,
    SingerlakeError,
    UnknownStream,
    UnknownTap,
    UnsupportedFormat,
)
from singerlake.format import document, schema
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.lake import log, open_on
from singerlake.store import Listed, MemoryStore, Store, Stored, StoreWrapper
from tests.format.made import record_line, schema_line
from tests.servers import S3Server

TAP, STREAM = "tap-test--tests", "orders"
KEYS = StreamKeys(TAP, STREAM)
LAKE_DOCUMENT, CATALOGUE = key_names.LAKE_DOCUMENT, key_names.catalogue(TAP)

REBUILD = "singerlake rebuild"
CHECK = "singerlake check"
UPGRADE = "upgrade it"


def new_store() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


def everything(store: Store) -> dict[str, bytes]:
    return {row.key: store.read(row.key).data for row in store.list("")}


def put(store: Store, key: str, data: bytes) -> None:
    """Overwrite an object, as somebody with other tools would."""
    store.delete(key)
    store.create(key, data)


def land(lake: Lake, *, version: int = 1, stream: str = STREAM, tap_id: str = TAP) -> None:
    body = {"type": "object", "properties": {"id": {}, f"added_in_{version}": {}}}
    with lake.writer(tap_id, options=WriterOptions(max_file_records=2)) as writer:
        writer.write(schema_line(stream, body))
        for number in range(3):
            writer.write(record_line(stream, b'{"id":%d}' % number))


def write(lake: Lake, *lines: bytes) -> None:
    with lake.writer(TAP) as writer:
        for line in lines:
            writer.write(line)


def read(lake: Lake) -> None:
    for _ in lake.stream(TAP, STREAM).snapshot().records():
        pass


def list_streams(lake: Lake) -> None:
    lake.tap(TAP).streams()


def look(lake: Lake) -> None:
    check(lake.store)


def list_taps(lake: Lake) -> None:
    """Opening works, so that check and rebuild can mend it."""
    open_on(lake.store).taps()


def open_again(lake: Lake) -> None:
    open_on(lake.store)


def open_to_create(lake: Lake) -> None:
    open_on(lake.store, create=True)


def file_key(store: Store) -> str:
    return next(row.key for row in store.list(KEYS.folder) if row.key.endswith(".singer.gz"))


def corrupt(key: str, data: bytes = b'{"half of a docum') -> Callable[[Store], None]:
    return lambda store: put(store, key, data)


def outdate(key: str) -> Callable[[Store], None]:
    """The document as a later version of Singerlake might write it."""

    def change(store: Store) -> None:
        body = json.loads(store.read(key).data)
        put(store, key, json.dumps({"format": body["format"], "format_version": 2}).encode())

    return change


def cut_inside_a_member(store: Store) -> None:
    key = file_key(store)
    put(store, key, store.read(key).data[:-11])


def cut_between_members(store: Store) -> None:
    key = file_key(store)
    data = store.read(key).data
    put(store, key, data[: data.index(b"\x1f\x8b\x08", 3)])


def change_a_byte(store: Store) -> None:
    key = file_key(store)
    data = bytearray(store.read(key).data)
    data[-20] ^= 255
    put(store, key, bytes(data))


def empty_file(store: Store) -> None:
    put(store, file_key(store), b"")


def lose_file(store: Store) -> None:
    store.delete(file_key(store))


def lose_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)


def move_manifest(store: Store) -> None:
    body = json.loads(store.read(KEYS.manifest).data)
    put(store, KEYS.manifest, json.dumps({**body, "stream": "another"}).encode())


def move_catalogue(store: Store) -> None:
    """As where a disk takes the names of two taps for one."""
    body = json.loads(store.read(CATALOGUE).data)
    put(store, CATALOGUE, json.dumps({**body, "tap_id": TAP.upper()}).encode())


def segment(store: Store) -> manifests.Segment:
    return log.read_head(store, KEYS).manifest.segments[0]


def lose_segment(store: Store) -> None:
    store.delete(KEYS.under(segment(store).path))


def change_segment(store: Store) -> None:
    key = KEYS.under(segment(store).path)
    put(store, key, store.read(key).data.replace(b'"records":2', b'"records":3'))


def outdate_segment(store: Store) -> None:
    row = segment(store)
    key = KEYS.under(row.path)
    outdate(key)(store)
    body = json.loads(store.read(KEYS.manifest).data)
    body["segments"][0]["checksum"] = log.checksum(store.read(key).data)
    put(store, KEYS.manifest, json.dumps(body).encode())


Damage = Callable[[Store], None]
Action = Callable[[Lake], None]

CASES: list[tuple[Damage, list[Action], type[SingerlakeError], str]] = [
    (corrupt(KEYS.manifest), [read, land], CorruptDocument, REBUILD),
    (corrupt(KEYS.manifest, b""), [read, land], CorruptDocument, REBUILD),
    (corrupt(KEYS.manifest, b"\xff\0\xff"), [read, land], CorruptDocument, REBUILD),
    (corrupt(CATALOGUE), [list_streams, land], CorruptDocument, REBUILD),
    (corrupt(CATALOGUE, b"[]"), [list_streams, land], CorruptDocument, REBUILD),
    (corrupt(LAKE_DOCUMENT), [list_taps, open_to_create, land], CorruptDocument, REBUILD),
    (move_manifest, [read, land], CorruptDocument, REBUILD),
    (move_catalogue, [list_streams, land], CorruptDocument, CHECK),
    (outdate(KEYS.manifest), [read, land, look], UnsupportedFormat, UPGRADE),
    (outdate(CATALOGUE), [list_streams, land, look], UnsupportedFormat, UPGRADE),
    (outdate(LAKE_DOCUMENT), [open_again, open_to_create, land, look], UnsupportedFormat, UPGRADE),
    (outdate_segment, [read, look], UnsupportedFormat, UPGRADE),
    (lose_segment, [read], CorruptDocument, REBUILD),
    (change_segment, [read], CorruptDocument, REBUILD),
    (cut_inside_a_member, [read], CorruptFile, CHECK),
    (cut_between_members, [read], CorruptFile, CHECK),
    (change_a_byte, [read], CorruptFile, CHECK),
    (empty_file, [read], CorruptFile, CHECK),
    (lose_file, [read], MissingFile, "backup"),
    (lose_manifest, [land], MissingManifest, REBUILD),
]


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Three files of two records and one: the first stands in a segment."""
    monkeypatch.setattr(manifests, "FAN_OUT", 1)
    found = open_on(new_store(), create=True)
    land(found)
    land(found)
    assert check(found.store).findings == []
    return found


@pytest.mark.parametrize(("damage", "actions", "error", "advice"), CASES, ids=range(len(CASES)))
def test_damage_has_its_own_error_and_nothing_is_changed(
    lake: Lake,
    damage: Damage,
    actions: list[Action],
    error: type[SingerlakeError],
    advice: str,
) -> None:
    damage(lake.store)
    before = everything(lake.store)
    for action in actions:
        with pytest.raises(SingerlakeError) as caught:
            action(lake)
        assert type(caught.value) is error
        assert lake.store.url in str(caught.value)
        assert advice in str(caught.value)
        assert everything(lake.store) == before


@pytest.mark.parametrize("damage", [case[0] for case in CASES], ids=range(len(CASES)))
def test_a_check_finds_the_damage_and_changes_nothing(lake: Lake, damage: Damage) -> None:
    damage(lake.store)
    before = everything(lake.store)
    with contextlib.suppress(UnsupportedFormat):
        assert not check(lake.store).clean
    assert everything(lake.store) == before


@pytest.mark.parametrize(
    "damage",
    [
        outdate(KEYS.manifest),
        outdate_segment,
        outdate(CATALOGUE),
        outdate(LAKE_DOCUMENT),
    ],
)
def test_a_rebuild_leaves_documents_of_the_future_alone(lake: Lake, damage: Damage) -> None:
    damage(lake.store)
    before = everything(lake.store)
    with pytest.raises(UnsupportedFormat, match=UPGRADE):
        rebuild(lake.store)
    assert everything(lake.store) == before


def test_what_is_not_a_lake_says_so_and_stays_as_it_is(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(NotALake, match=r"nowhere: expected a lake, .* check the address"):
        open_lake(nowhere)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "holiday.jpg").write_bytes(b"beach")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "potatoes.txt").write_text("1 kg")
    with pytest.raises(NotALake):
        open_lake(tmp_path)
    with pytest.raises(NotALake):
        open_lake(tmp_path / "holiday.jpg")
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "holiday.jpg",
        "potatoes.txt",
        "raw",
    ]


@pytest.mark.parametrize("url", ["", " ", "gopher://lake", "s3://"])
def test_an_address_that_leads_nowhere_says_so(url: str) -> None:
    with pytest.raises(BadLocation):
        open_lake(url)


def test_unknown_taps_and_streams_say_how_to_find_others(lake: Lake) -> None:
    before = everything(lake.store)
    with pytest.raises(UnknownTap, match=f"there are {TAP}"):
        lake.tap("tap-nobody").streams()
    with pytest.raises(UnknownStream, match=f"there are .*{STREAM}"):
        lake.stream(TAP, "nothing").snapshot()
    with pytest.raises(UnknownTap, match=f"there are {TAP}"):
        lake.stream("tap-nobody", STREAM).snapshot()
    assert everything(lake.store) == before


class Refusing(StoreWrapper):
    """Stands in for a store that denies access: as root, the modes of a folder deny nothing."""

    def __init__(self, inner: Store, *, reads: bool) -> None:
        super().__init__(inner)
        self._reads = reads

    def _deny(self, key: str) -> PermissionDenied:
        return PermissionDenied(f"no permission for {key}: let the user read and write the lake")

    def read(self, key: str) -> Stored:
        if self._reads:
            raise self._deny(key)
        return super().read(key)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        if self._reads:
            raise self._deny(key)
        return super().open(key, size)

    def list(self, prefix: str) -> Iterator[Listed]:
        if self._reads:
            raise self._deny(prefix)
        return super().list(prefix)

    def create(self, key: str, data: bytes | Path) -> str:
        raise self._deny(key)

    def replace(self, key: str, data: bytes, version: str) -> str:
        raise self._deny(key)

    def delete(self, key: str) -> None:
        raise self._deny(key)

    def delete_if(self, key: str, version: str) -> None:
        raise self._deny(key)


def test_a_store_that_may_only_be_read_can_be_read_and_refuses_writes(lake: Lake) -> None:
    before = everything(lake.store)
    denied = open_on(Refusing(lake.store, reads=False))
    read(denied)
    assert check(denied.store).clean
    for action in (
        lambda: land(denied),
        lambda: land(denied, version=2),
        lambda: land(denied, tap_id="tap-new"),
        lambda: rebuild(denied.store),
        lambda: open_on(Refusing(new_store(), reads=False), create=True),
    ):
        with pytest.raises(PermissionDenied, match="let the user read and write"):
            action()
    assert everything(lake.store) == before


def test_a_store_that_may_not_be_read_is_no_missing_lake(lake: Lake) -> None:
    before = everything(lake.store)
    store = Refusing(lake.store, reads=True)
    denied = Lake(store)
    for action in (
        lambda: open_on(store),
        lambda: open_on(store, create=True),
        lambda: read(denied),
        lambda: list_streams(denied),
        lambda: land(denied),
        lambda: check(store),
        lambda: rebuild(store),
    ):
        with pytest.raises(PermissionDenied):
            action()
    assert everything(lake.store) == before


@pytest.mark.slow
def test_a_real_store_that_knows_us_not_is_no_missing_lake(seaweedfs: S3Server) -> None:
    bucket = seaweedfs.new_bucket()
    url = f"s3://{bucket}/lake"
    land(open_lake(url, create=True, **seaweedfs.storage_options()))
    stranger = {**seaweedfs.storage_options(), "secret": "not-the-secret"}
    for create in (False, True):
        with pytest.raises(PermissionDenied) as caught:
            open_lake(url, create=create, **stranger)
        assert "not-the-secret" not in str(caught.value)


@pytest.mark.parametrize("tap_id", ["", "x" * 181, "é" * 40])
def test_a_tap_name_that_no_path_can_hold_is_refused(lake: Lake, tap_id: str) -> None:
    before = everything(lake.store)
    with pytest.raises(BadName):
        lake.writer(tap_id)
    assert everything(lake.store) == before


def test_a_stream_name_that_no_path_can_hold_is_refused_before_any_record(lake: Lake) -> None:
    before = everything(lake.store)
    for name, error in (("x" * 181, BadName), ("é" * 40, BadName), ("", BadMessage)):
        with pytest.raises(error):
            write(lake, schema_line(name), record_line(name))
    assert everything(lake.store) == before


@pytest.mark.parametrize("name", ["../../../up", "/etc/passwd", "..", "C:\\", "manifest.json"])
def test_a_name_that_leads_elsewhere_stays_in_the_lake(tmp_path: Path, name: str) -> None:
    root = tmp_path / "lake"
    lake = open_lake(root, create=True)
    land(lake, stream=name, tap_id=name)
    assert [path for path in tmp_path.iterdir()] == [root]
    assert check(lake.store).findings == []


@pytest.mark.parametrize("key", ["../up", "raw/../../up", "/up", "raw//up", "raw/a\\b", "raw/a\0"])
def test_no_key_leads_outside_the_store(tmp_path: Path, key: str) -> None:
    store = open_lake(tmp_path / "lake", create=True).store
    before = sorted(tmp_path.rglob("*"))
    for action in (
        lambda: store.create(key, b""),
        lambda: store.read(key),
        lambda: store.open(key),
        lambda: store.delete(key),
    ):
        with pytest.raises(BadName):
            action()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "line",
    [
        b"not JSON",
        b'{"type":"RECORD","stream":"orders"}',
        b'{"type":"RECORD","stream":"unheard of","record":{}}',
        b'{"type":"SCHEMA","stream":"orders","schema":"x"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=range(6),
)
def test_a_line_that_cannot_be_kept_stops_the_writer_and_commits_nothing(
    lake: Lake, line: bytes
) -> None:
    before = everything(lake.store)
    with pytest.raises(InputError):
        write(lake, schema_line(STREAM), record_line(STREAM), line)
    assert everything(lake.store) == before


@pytest.fixture
def _one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every schema has the same hash: what one pair in a trillion has."""
    monkeypatch.setattr(schema, "hash_text", lambda text: "StxYGwZ")


@pytest.mark.usefixtures("_one_hash")
def test_two_schemas_with_one_hash_are_never_mixed() -> None:
    lake = open_on(new_store(), create=True)
    land(lake, version=1)
    files = {key: data for key, data in everything(lake.store).items() if key != CATALOGUE}
    with pytest.raises(SchemaCollision, match=r"nothing was written.*gives it another hash"):
        land(lake, version=2)
    after = everything(lake.store)
    after.pop(CATALOGUE)
    assert after == files
    land(lake, version=1)
    assert check(lake.store).clean


@pytest.mark.usefixtures("_one_hash")
def test_two_schemas_with_one_hash_are_never_mixed_by_one_writer() -> None:
    lake = open_on(new_store(), create=True)
    before = everything(lake.store)
    one, other = (schema_line(STREAM, {"maximum": number}) for number in (1, 2))
    with pytest.raises(SchemaCollision):
        write(lake, one, record_line(STREAM), other, record_line(STREAM))
    assert everything(lake.store) == before


@pytest.mark.usefixtures("_one_hash")
@pytest.mark.parametrize("has_catalogue", [True, False])
def test_two_schemas_with_one_hash_leave_the_catalogue_alone(has_catalogue: bool) -> None:
    lake = open_on(new_store(), create=True)
    land(lake, version=1)
    if not has_catalogue:
        lake.store.delete(CATALOGUE)
    before = everything(lake.store)
    with pytest.raises(SchemaCollision):
        land(lake, version=2)
    assert everything(lake.store) == before


def test_a_document_that_programs_wrote_holds_its_kind_and_version(lake: Lake) -> None:
    for key in (LAKE_DOCUMENT, CATALOGUE, KEYS.manifest, KEYS.under(segment(lake.store).path)):
        body: dict[str, Any] = json.loads(lake.store.read(key).data)
        assert body["format"].startswith("singerlake.")
        assert body["format_version"] == document.VERSION
