"""A lake that is right, and every way in which a promise of it can be broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from singerlake.format import keys as key_names
from singerlake.lake import check
from singerlake.store import Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    STREAM,
    TAP,
    edit,
    land_each,
    lock_key,
    new_store,
    overwrite,
    paths_in,
    put_file,
    put_orphan,
    record_line,
    schema_hash,
    schema_line,
    singer_file,
)

OTHER = "customers"
CATALOGUE = key_names.catalogue(TAP)
LAKE = key_names.LAKE_DOCUMENT


def healthy(count: int = 7, stream: str = STREAM) -> Store:
    """A lake of several commits, one record each; with small segments, of several segments."""
    store = new_store()
    land_each(store, range(count), stream)
    return store


def first_path(store: Store) -> str:
    return paths_in(store)[0]


def last_file(body: dict[str, Any]) -> dict[str, Any]:
    return body["files"][-1]


def rewrite_last(store: Store, lines: list[bytes]) -> None:
    """Put other content under the newest file's name, with an entry that fits its bytes."""
    data = singer_file(lines)
    path = paths_in(store)[-1]
    overwrite(store, KEYS.under(path), data)


# Each of these breaks one promise. The last commit of the lake has sequence 7 and record 6.


def gap_in_sequences(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(sequence=9))


def gap_at_the_end(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body.update(last_sequence=9))


def repeated_sequence(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(sequence=6))


def files_out_of_order(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body["files"].reverse())


def file_listed_twice(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["files"].append({**last_file(body), "sequence": 8})
        body["last_sequence"] = 8

    edit(store, KEYS.manifest, change)


def wrong_record_count(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(records=2))


def wrong_size(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(bytes=1))


def wrong_checksum(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(checksum="sha256:00"))


def wrong_times(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(first="2020-01-01T00:00:00Z"))


def changed_file(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6), record_line(6)])


def wrong_times_in_name(store: Store) -> None:
    path = put_file(store, [schema_line(), record_line(7)], [8])
    list_it(store, path)


def name_of_another_stream(store: Store) -> None:
    path = paths_in(store)[-1].replace("orders-", "others-")

    def change(body: dict[str, Any]) -> None:
        last_file(body).update(path=path)

    old = paths_in(store)[-1]
    store.create(KEYS.under(path), store.read(KEYS.under(old)).data)
    store.delete(KEYS.under(old))
    edit(store, KEYS.manifest, change)


def schema_not_first(store: Store) -> None:
    rewrite_last(store, [record_line(6), schema_line()])


def second_schema_line(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6), schema_line()])


def empty_file(store: Store) -> None:
    rewrite_last(store, [])


def truncated_file(store: Store) -> None:
    key = KEYS.under(paths_in(store)[-1])
    overwrite(store, key, store.read(key).data[:-10])


def not_a_gzip_file(store: Store) -> None:
    overwrite(store, KEYS.under(paths_in(store)[-1]), b"not gzip")


def file_of_another_stream(store: Store) -> None:
    rewrite_last(store, [schema_line(OTHER), record_line(6, OTHER)])


def mixed_streams(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6, OTHER)])


def file_of_another_schema(store: Store) -> None:
    rewrite_last(store, [schema_line(version=2), record_line(6)])


def other_schema_of_the_same_hash(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["versions"][schema_hash()]["digest"] = "sha256:00"

    edit(store, KEYS.manifest, change)


def missing_file(store: Store) -> None:
    store.delete(KEYS.under(paths_in(store)[-1]))


def missing_file_in_a_segment(store: Store) -> None:
    store.delete(KEYS.under(first_path(store)))


def orphan_file(store: Store) -> None:
    put_orphan(store, 50)


def orphan_segment(store: Store) -> None:
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")


def missing_segment(store: Store) -> None:
    store.delete(segments(store)[0])


def corrupt_segment(store: Store) -> None:
    key = segments(store)[0]
    overwrite(store, key, store.read(key).data + b" ")


def missing_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)
    store.delete(KEYS.manifest_copy)


def corrupt_manifest(store: Store) -> None:
    overwrite(store, KEYS.manifest, b"{")
    store.delete(KEYS.manifest_copy)


def manifest_of_another_stream(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body.update(stream=OTHER))


def stale_lock(store: Store) -> None:
    store.create(lock_key(), b"{}")


def missing_catalogue(store: Store) -> None:
    store.delete(CATALOGUE)


def corrupt_catalogue(store: Store) -> None:
    overwrite(store, CATALOGUE, b"[]")


def catalogue_without_the_stream(store: Store) -> None:
    edit(store, CATALOGUE, lambda body: body["streams"].clear())


def catalogue_of_another_tap(store: Store) -> None:
    edit(store, CATALOGUE, lambda body: body.update(tap_id=TAP.upper()))


def catalogue_with_another_hash(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["streams"][0]["metadata"][0]["metadata"]["singerlake.schema-hash"] = "0000000"

    edit(store, CATALOGUE, change)


def missing_lake_document(store: Store) -> None:
    store.delete(LAKE)


def corrupt_lake_document(store: Store) -> None:
    overwrite(store, LAKE, b"no JSON")


def lake_document_without_the_tap(store: Store) -> None:
    edit(store, LAKE, lambda body: body["taps"].clear())


def list_it(store: Store, path: str) -> None:
    """Have check adopt a file, then leave it as it is: its entry fits its content."""
    check(store, fix=True, times=QUICK)
    assert path in paths_in(store)


def segments(store: Store) -> list[str]:
    return [row.key for row in store.list(f"{KEYS.folder}/_segments")]


@dataclass(frozen=True)
class Broken:
    """How a promise is broken, the codes that must be found, and what mends it."""

    by: Callable[[Store], None]
    codes: tuple[str, ...]
    mended_by: str = ""


PROMISES = [
    Broken(gap_in_sequences, ("sequence-gap", "sequence-gap")),
    Broken(gap_at_the_end, ("sequence-gap",)),
    Broken(repeated_sequence, ("sequence-gap", "sequence-repeat")),
    Broken(files_out_of_order, ("sequence-order",)),
    Broken(file_listed_twice, ("file-repeat",), "rebuild"),
    Broken(wrong_record_count, ("file-records",), "rebuild"),
    Broken(wrong_size, ("file-size",), "rebuild"),
    Broken(wrong_checksum, ("file-checksum",), "rebuild"),
    Broken(wrong_times, ("file-times",), "rebuild"),
    Broken(changed_file, ("file-checksum", "file-records", *("file-size",) * 2, "name-wrong")),
    Broken(wrong_times_in_name, ("name-wrong", "name-wrong")),
    Broken(name_of_another_stream, ("name-wrong",)),
    Broken(schema_not_first, ("file-corrupt",)),
    Broken(second_schema_line, ("file-corrupt",)),
    Broken(empty_file, ("file-corrupt",)),
    Broken(truncated_file, ("file-corrupt",)),
    Broken(not_a_gzip_file, ("file-corrupt",)),
    Broken(
        file_of_another_stream,
        ("file-checksum", *("file-size",) * 2, "name-wrong", "stream-wrong"),
    ),
    Broken(mixed_streams, ("file-corrupt",)),
    Broken(
        file_of_another_schema,
        ("file-checksum", "file-size", "name-wrong", "schema-wrong", "schema-wrong"),
    ),
    Broken(other_schema_of_the_same_hash, ("schema-wrong",) * 7),
    Broken(missing_file, ("file-missing",), "rebuild"),
    Broken(missing_file_in_a_segment, ("file-missing",), "rebuild"),
    Broken(orphan_file, ("orphan-file",), "fix"),
    Broken(orphan_segment, ("orphan-segment",), "fix"),
    Broken(missing_segment, ("manifest-corrupt",), "fix"),
    Broken(corrupt_segment, ("manifest-corrupt",), "fix"),
    Broken(missing_manifest, ("manifest-missing",), "fix"),
    Broken(corrupt_manifest, ("manifest-corrupt",), "fix"),
    Broken(manifest_of_another_stream, ("manifest-corrupt",), "fix"),
    Broken(stale_lock, ("stale-lock",), "fix"),
    Broken(missing_catalogue, ("catalogue-missing",), "fix"),
    Broken(corrupt_catalogue, ("catalogue-corrupt",), "fix"),
    Broken(catalogue_of_another_tap, ("catalogue-corrupt",), "fix"),
    Broken(catalogue_without_the_stream, ("catalogue-stream",), "fix"),
    Broken(catalogue_with_another_hash, ("catalogue-hash",), "fix"),
    Broken(missing_lake_document, ("lake-document-missing",), "fix"),
    Broken(corrupt_lake_document, ("lake-document-corrupt",), "fix"),
    Broken(lake_document_without_the_tap, ("lake-document-tap",), "fix"),
]


def named(broken: Broken) -> str:
    return broken.by.__name__.replace("_", " ")
