"""Any other file system that fsspec knows as a store: look, then write."""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
from fsspec import AbstractFileSystem
from fsspec.asyn import AsyncFileSystem

from singerlake.errors import (
    AlreadyExists,
    BadLocation,
    Changed,
    NotFound,
    StoreError,
    Unavailable,
)
from singerlake.store import disk
from singerlake.store.address import password, public_url
from singerlake.store.base import Data, Listed, Promise, Store, Stored, in_hand
from singerlake.store.generic_errors import explained
from singerlake.store.keys import check_key, check_prefix, is_hidden
from singerlake.store.per_process import PerProcess
from singerlake.store.probe import warn_weak
from singerlake.store.sealed import seal, unseal
from singerlake.store.secrets import text_of
from singerlake.store.stream import FileSource, reader

_OWN_FOLDER = ".singerlake-tmp"
_BLOCK = 1 << 20
# Where an object appears whole or not at all; elsewhere it is written aside, then moved.
_ATOMIC = {"abfs", "abfss", "adl", "az", "gcs", "gs", "memory", "oci", "oss"}
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_EARLIEST = datetime(2000, 1, 1, tzinfo=timezone.utc)  # before: the store tells no time


class FsspecStore(Store):
    """Objects below an fsspec URL.

    Versions are SHA-256 hashes of the content; those of a listing are size and time.
    fsspec has no conditional write that every file system keeps, so the promise is best
    effort, which is said in the log at the first write.
    """

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self._url = public_url(url).rstrip("/")
        options = seal(storage_options or {})
        self._atomic = url.partition("://")[0] in _ATOMIC
        address = seal({"address": url})  # sealed where there is a password in it
        self._hidden = {"address": address, "options": options}
        self._connection = PerProcess(partial(_connect, self._url, address, options))

    @property
    def url(self) -> str:
        return self._url

    def promise(self) -> Promise:
        return Promise.BEST_EFFORT

    def read(self, key: str) -> Stored:
        check_key(key)
        with self._at(key) as (fs, path):
            data = fs.cat_file(path)
        return Stored(data, hashlib.sha256(data).hexdigest())

    def version(self, key: str) -> str:
        with self.open(key) as file:
            return _hash(file)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        check_key(key)
        with self._at(key) as (fs, path):
            file = fs.open(path, "rb")
        return reader(_ExplainedSource(file, lambda: self._at(key)), _BLOCK)

    def create(self, key: str, data: Data) -> str:
        check_key(key)
        with self._at(key) as (fs, path):
            if _info(fs, path) is not None:
                raise AlreadyExists(f"{self.url}/{key} exists already")
        return self._write(key, in_hand(data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        self._require(key, version)
        return self._write(key, data)

    def delete(self, key: str) -> None:
        check_key(key)
        with contextlib.suppress(NotFound), self._at(key, write=True) as (fs, path):
            fs.rm_file(path)

    def delete_if(self, key: str, version: str) -> None:
        self._require(key, version)
        self.delete(key)

    def folders(self, prefix: str) -> list[str]:
        check_prefix(prefix)
        with contextlib.suppress(NotFound), self._at(prefix) as (fs, path):
            rows = fs.ls(path, detail=True)
            names = [row["name"].rstrip("/").rpartition("/")[2] for row in rows if _is_folder(row)]
            return sorted(name for name in names if not is_hidden(name))
        return []

    def list(self, prefix: str) -> Iterator[Listed]:
        rows = self._rows(check_prefix(prefix)[:-1])
        yield from sorted((row for row in rows if not is_hidden(row.key)), key=lambda row: row.key)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        limit = datetime.now(timezone.utc) - older_than
        rows = self._rows(_OWN_FOLDER)
        stale = [row.key for row in rows if _EARLIEST < row.modified < limit]
        for key in stale:
            self.delete(key)
        return len(stale)

    @contextlib.contextmanager
    def _at(self, key: str, write: bool = False) -> Iterator[tuple[Any, str]]:
        """The file system and the key's path in it; errors are explained."""
        try:
            with explained(f"{self.url}/{key}", self._hidden, write=write):
                fs, root = self._connection.get()
                fs.invalidate_cache()  # another process may have written: no listing of yesterday
                yield fs, f"{root}/{key}".rstrip("/")
        except Unavailable:
            # Some (SFTP) have one connection for ever: whoever tries again needs a new one.
            self._connection.forget()
            raise

    def _rows(self, prefix: str) -> Sequence[Listed]:
        with contextlib.suppress(NotFound), self._at("") as (fs, root):
            folder = f"{root}/{prefix}".rstrip("/")
            return [
                _listed(path[len(root) + 1 :], info)
                for path, info in _found(fs, folder)
                # Where the prefix is an object itself, file systems answer with that.
                if path.startswith(f"{folder}/")
            ]
        return []

    def _require(self, key: str, version: str) -> None:
        try:
            found = self._listed_version(key) if "-" in version else self.version(key)
        except NotFound:
            raise Changed(f"{self.url}/{key} is gone") from None
        if found != version:
            raise Changed(f"{self.url}/{key} is version {found[:12]} now, not {version[:12]}")

    def _listed_version(self, key: str) -> str:
        check_key(key)
        with self._at(key) as (fs, path):
            if (info := _info(fs, path)) is None:
                raise NotFound(f"there is no {self.url}/{key}")
            return _listed(key, info).version

    def _write(self, key: str, data: bytes | Path) -> str:
        warn_weak(self.url)
        aside = key if self._atomic else f"{_OWN_FOLDER}/{uuid.uuid4().hex}"
        with self._at(aside, write=True) as (fs, path):
            _in_folder(fs, path, lambda: _send(fs, path, data))
        if aside != key:
            with self._at(key, write=True) as (fs, target):
                _in_folder(fs, target, lambda: fs.mv(path, target))
            self._require_moved(aside, key)
        if isinstance(data, Path):
            with data.open("rb") as file:
                return _hash(file)
        return hashlib.sha256(data).hexdigest()

    def _require_moved(self, aside: str, key: str) -> None:
        """Some file systems (WebHDFS) rename nothing where the target exists, and do not say so."""
        with self._at(aside, write=True) as (fs, path):
            if _info(fs, path) is None:
                return
            fs.rm_file(path)
        raise StoreError(
            f"{self.url}/{key} is not written: this file system does not replace an object by "
            "renaming another, which a lake needs"
        )


class _ExplainedSource(FileSource):
    def __init__(self, file: BinaryIO, explain: Callable[[], Any]) -> None:
        super().__init__(file)
        self._explain = explain

    def fetch(self, offset: int, length: int) -> bytes:
        with self._explain():
            return super().fetch(offset, length)


def _connect(shown: str, address: Mapping[str, Any], sealed: Mapping[str, Any]) -> tuple[Any, str]:
    url, options = unseal(address)["address"], unseal(sealed)
    try:
        fs, root = fsspec.url_to_fs(url, **options, skip_instance_cache=True)
    except (TypeError, ValueError, KeyError) as error:  # no cause: it may quote a setting
        # That of a URL that cannot be split quotes pieces of the password, which no search finds.
        told = type(error).__name__ if password(url) else text_of(error, options)
        raise BadLocation(f"{shown}: the URL or storage_options do not work ({told})") from None
    return fs, root.rstrip("/")


def _send(fs: Any, path: str, data: bytes | Path) -> None:
    if isinstance(data, Path):
        fs.put_file(str(data), path)
    else:
        fs.pipe_file(path, data)


def _in_folder(fs: Any, path: str, action: Callable[[], None]) -> None:
    """Make the folder only where the file system asks for one: object stores have none."""
    try:
        action()
    except FileNotFoundError:
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        action()


def _found(fs: Any, folder: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object below the folder, with what is known of it.

    Object stores list flat. Others get fsspec's own `find`, which passes over each folder that
    cannot be listed, without a word: what is there would be taken for lost. So not that one.
    """
    if not _walks(fs):
        yield from fs.find(folder, detail=True).items()
        return
    left = [folder]
    while left:
        above = left.pop()
        try:
            rows = fs.ls(above, detail=True)
        except FileNotFoundError:
            continue  # it went since we saw it
        for row in rows:
            path = row["name"].rstrip("/")
            if not _is_folder(row):
                yield path, row
            elif path != above:
                left.append(path)


def _walks(fs: Any) -> bool:
    """Whether the file system has no listing of its own of all that is below a folder."""
    if isinstance(fs, AsyncFileSystem):
        return type(fs)._find is AsyncFileSystem._find
    return type(fs).find is AbstractFileSystem.find


def _info(fs: Any, path: str) -> Any:
    """What is known of the object, or None. `fs.exists` says no to every error: unfit here."""
    try:
        info = fs.info(path)
    except FileNotFoundError:
        return None
    return None if _is_folder(info) else info


def _is_folder(info: Mapping[str, Any]) -> bool:
    return info.get("type") == "directory"


def _listed(key: str, info: Mapping[str, Any]) -> Listed:
    size, modified = int(info.get("size") or 0), _modified(info)
    return Listed(key, size, modified, f"{size}-{modified.timestamp()}")


def _modified(info: Mapping[str, Any]) -> datetime:
    """The time of change, from whatever field and form the file system has for it."""
    value = next((info[name] for name in _TIMES if info.get(name) is not None), 0)
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if not isinstance(value, datetime):
        return disk.moment(float(value))
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def _hash(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
