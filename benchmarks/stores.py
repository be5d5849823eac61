"""The stores that are measured, with what reaches them counted."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiobotocore.session import AioSession  # type: ignore[import-untyped, unused-ignore]

from singerlake.store import Counting, Store, Stored, StoreWrapper, open_store
from tests.servers import S3Server, run_seaweedfs

LOCAL, S3 = "local folder", "S3 (SeaweedFS)"
_NOT_SENT = {"promise"}


class Metered(Counting):
    """Counts calls, and the keys and bytes that are read whole."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.keys_read: list[str] = []
        self.bytes_read = 0

    def read(self, key: str) -> Stored:
        stored = super().read(key)
        self.keys_read.append(key)
        self.bytes_read += len(stored.data)
        return stored

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        found = super().read_if_changed(key, validator)
        if found is not None:
            self.keys_read.append(key)
            self.bytes_read += len(found[0].data)
        return found

    def reset(self) -> None:
        super().reset()
        self.keys_read, self.bytes_read = [], 0

    @property
    def requests(self) -> dict[str, int]:
        """Calls that a store answers by requests, by kind."""
        return {kind: n for kind, n in self.counts.items() if kind not in _NOT_SENT}

    @property
    def lists(self) -> int:
        return self.counts.get("list", 0) + self.counts.get("folders", 0)


class Delayed(StoreWrapper):
    """Answers a read later, as a store that is far away does."""

    def __init__(self, inner: Store, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    def read(self, key: str) -> Stored:
        time.sleep(self._seconds)
        return super().read(key)


@dataclass
class Wire:
    """Requests as the S3 client sends them, retries and probes included, and bytes of bodies as
    it receives them."""

    counts: Counter[str] = field(default_factory=Counter)
    received: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def session(self) -> AioSession:
        session = AioSession()
        session.register("before-send.s3", self._sent)
        session.register("response-received.s3", self._answered)
        return session

    def _sent(self, request: Any, **_: Any) -> None:
        with self._lock:
            self.counts[request.method] += 1

    def _answered(self, response_dict: Any = None, **_: Any) -> None:
        # An answer 304 may tell the length of the body that it does not have.
        if response_dict and response_dict["status_code"] != 304:
            with self._lock:
                self.received += int(response_dict["headers"].get("content-length", 0))

    @property
    def total(self) -> int:
        with self._lock:
            return self.counts.total()


@dataclass(frozen=True)
class Place:
    """A kind of store: `store` is open, `reopen` gives another as a new process would."""

    name: str
    store: Store
    reopen: Callable[[], tuple[Store, Wire | None]]
    wire: Wire | None = None
    peer_url: str = ""
    peer_options: dict[str, str] = field(default_factory=dict)


@contextmanager
def places() -> Iterator[list[Place]]:
    """An empty local folder, and an empty bucket of a real S3 server on this machine."""
    with tempfile.TemporaryDirectory(prefix="singerlake-bench-") as folder:
        local = Place(
            LOCAL,
            open_store(folder),
            lambda: (open_store(folder), None),
            peer_url=f"{folder}/peer",
        )
        with run_seaweedfs() as server:
            yield [local, _s3(server)]


def _s3(server: S3Server) -> Place:
    bucket = server.new_bucket()

    def reopen() -> tuple[Store, Wire]:
        wire = Wire()
        options = server.storage_options() | {"session": wire.session()}
        return open_store(f"s3://{bucket}/lake", options), wire

    store, wire = reopen()
    options = {
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_ACCESS_KEY_ID": server.key,
        "AWS_SECRET_ACCESS_KEY": server.secret,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "conditional_put": "etag",
    }
    return Place(S3, store, reopen, wire, f"s3://{bucket}/peer", options)
