"""Renewal: one thread holds all the keys of a processor."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from singerlake.errors import SingerlakeError
from singerlake.processor.engine.base import Engine
from singerlake.processor.engine.values import Terms
from singerlake.processor.event import Lease

logger = logging.getLogger("singerlake.processor")


class Renewal:
    """Renews the leases of the slots that live. A slot takes its lease out when it ends, however
    it ends: nothing is held for a loop that is dead."""

    def __init__(
        self, engine: Engine, client: str, terms: Terms, on_lost: Callable[[str, int], None]
    ) -> None:
        self._engine, self._client, self._terms, self._on_lost = engine, client, terms, on_lost
        self._leases: dict[str, tuple[Lease, threading.Thread]] = {}
        self._lock, self._ended = threading.Lock(), threading.Event()

    def start(self) -> None:
        self._renew()
        self._engine.runtime.start(self._run, "singerlake-renewal")

    def stop(self) -> None:
        self._ended.set()

    def hold(self, lease: Lease) -> None:
        with self._lock:
            older = self._leases.get(lease.key)
            self._leases[lease.key] = lease, threading.current_thread()
        if older is not None and not older[0].lost:
            # Another slot of this very processor has the key now.
            older[0].lost = True
            self._on_lost(lease.key, older[0].token)

    def let_go(self, lease: Lease) -> None:
        with self._lock:
            found = self._leases.get(lease.key)
            if found is not None and found[0] is lease:
                del self._leases[lease.key]

    def _run(self) -> None:
        while not self._engine.runtime.wait(self._ended, self._terms.lease / 3):
            try:
                self._renew()
            except SingerlakeError as error:
                logger.warning("leases cannot be renewed now: %s", error)

    def _renew(self) -> None:
        with self._lock:
            held = [lease for lease, thread in self._leases.values() if thread.is_alive()]
        shards: dict[int, dict[str, int]] = {}
        if self._terms.has_own_line:
            shards = {shard: {} for shard in range(self._engine.shards)}
        for lease in held:
            shards.setdefault(self._engine.shard_of(lease.key), {})[lease.key] = lease.token
        for shard, keys in shards.items():
            lost = set(self._engine.renew(shard, self._client, self._terms, keys))
            for lease in held:
                if lease.key in lost and keys.get(lease.key) == lease.token and not lease.lost:
                    self._lose(lease)

    def _lose(self, lease: Lease) -> None:
        with self._lock:
            found = self._leases.get(lease.key)
        if found is not None and found[0] is lease:
            lease.lost = True
            self._on_lost(lease.key, lease.token)
