"""Names of datasets and jobs, by OpenLineage's naming rules.

A dataset in a store: the namespace is the bucket or the host, the name is the path in it. The
messages that pass between a tap and a target have no store: their namespace is `singer://<tap>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from singerlake.format.keys import StreamKeys

_SCHEMES = {"s3a": "s3", "gcs": "gs", "abfs": "abfss", "az": "abfss", "adl": "abfss"}
_BUCKETS = frozenset({"s3", "gs", "abfss"})
"""Stores whose keys begin without a slash."""


@dataclass(frozen=True)
class DatasetName:
    namespace: str
    name: str
    uri: str = ""
    """Where it is, for people and for the facet `dataSource`."""


@dataclass(frozen=True)
class JobName:
    namespace: str
    name: str


def in_store(url: str, key: str) -> DatasetName:
    """A dataset in a store at a path or a URL, which holds no password: stores strip theirs."""
    scheme, found, rest = url.partition("://")
    if not found:
        path = f"{url.rstrip('/')}/{key}"
        return DatasetName("file", path, f"file://{quote(path, errors='replace')}")
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    place, _, root = rest.strip("/").partition("/")
    path = "/".join(part for part in (root.strip("/"), key) if part)
    if scheme == "memory":
        return DatasetName("inmemory://", f"{place}/{path}", f"inmemory:///{_quoted(place, path)}")
    namespace = f"{scheme}://{place}"
    name = path if scheme in _BUCKETS else f"/{path}"
    return DatasetName(namespace, name, f"{scheme}://{_quoted(place, path)}")


def _quoted(place: str, path: str) -> str:
    return f"{quote(place, safe='@:[]')}/{quote(path, errors='replace')}"


def of_stream(url: str, tap: str, stream: str) -> DatasetName:
    """A stream in the lake at this address: the folder that holds its files."""
    return in_store(url, StreamKeys(tap, stream).folder)


def of_messages(tap: str, stream: str) -> DatasetName:
    """The messages of a stream, on their way from a tap to a target."""
    return DatasetName(f"singer://{tap}", stream, f"singer://{_quoted(tap, stream)}")


def of_job(namespace: str, *parts: str) -> JobName:
    """`<tap>.land`, and below it `<tap>.land.<stream>`."""
    return JobName(namespace, ".".join(parts))


def shown(named: DatasetName) -> str:
    """As people write it."""
    if named.namespace == "file":
        return named.name
    return f"{named.namespace}/{named.name.lstrip('/')}"


def host_of(url: str) -> str:
    """The host of an HTTP address, for messages: no path, no password, no query."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}"
