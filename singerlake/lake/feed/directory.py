"""The streams that a feed is about: found through the lake document and the catalogues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from singerlake.errors import NotFound, SingerlakeError
from singerlake.format import catalogue, lake_document
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.lake import registry
from singerlake.lake.feed.follower import Follower, Look


class Directory:
    """Which taps and streams there are, as far as they are wanted; None wants all.

    Names that are wanted are followed before they exist. What was there once stays: a stream that
    vanishes from its catalogue has to be noticed.
    """

    def __init__(
        self,
        follower: Follower,
        taps: Collection[str] | None,
        streams: Collection[str] | None,
        known: Iterable[StreamKeys],
    ) -> None:
        self._follower = follower
        self._wanted_taps, self._wanted_streams = taps, streams
        self._taps: set[str] = set(taps or ())
        self._streams: dict[StreamKeys, str] = {}
        self._seen: dict[str, int] = {}
        for keys in known:
            self._add(keys)
        for tap in self._taps:
            for stream in streams or ():
                self._add(StreamKeys(tap, stream))

    @property
    def taps(self) -> list[str]:
        """In the order of their names."""
        return sorted(self._taps)

    @property
    def manifests(self) -> dict[StreamKeys, str]:
        """The key of each stream's manifest, in the order in which the streams were found."""
        return dict(self._streams)

    def has(self, keys: StreamKeys) -> bool:
        return keys in self._streams

    def wants(self, keys: StreamKeys) -> bool:
        """Whether a stream is one that the feed is about, known or not."""
        return (self._wanted_taps is None or keys.tap_id in self._wanted_taps) and (
            self._wanted_streams is None or keys.stream in self._wanted_streams
        )

    def refresh(self) -> dict[str, SingerlakeError]:
        """Look for new names; returns what could not be read, by tap, "" for the lake."""
        failed: dict[str, SingerlakeError] = {}
        if self._wanted_taps is None:
            error = self._read(key_names.LAKE_DOCUMENT, self._read_taps)
            failed |= {"": error} if error else {}
        if self._wanted_streams is None or self._wanted_taps is None:
            catalogues = {key_names.catalogue(tap): tap for tap in self.taps}
            self._follower.look(list(catalogues))
            for key, tap in catalogues.items():
                error = self._read(key, partial(self._read_streams, tap))
                failed |= {tap: error} if error else {}
        return failed

    def keys_of(self, tap: str) -> list[str]:
        """The documents that say which streams a tap has."""
        return [key_names.LAKE_DOCUMENT, key_names.catalogue(tap)]

    def _read(self, key: str, take: Callable[[bytes | None], None]) -> SingerlakeError | None:
        look = self._follower.look([key])[key]
        if self._seen.get(key) == look.change:
            return None if isinstance(look.error, NotFound) else look.error
        try:
            take(None if _is_missing(look) else self._follower.read(key))
        except SingerlakeError as error:
            return error
        self._seen[key] = look.change
        return None

    def _read_taps(self, data: bytes | None) -> None:
        store = self._follower.store
        if data is None:
            self._taps.update(registry.names_in(store, key_names.ROOT))
        else:
            where = f"{store.url}/{key_names.LAKE_DOCUMENT}"
            self._taps.update(lake_document.decode(data, where)["taps"])

    def _read_streams(self, tap: str, data: bytes | None) -> None:
        store = self._follower.store
        if data is None:
            names = registry.names_in(store, key_names.tap_folder(tap))
        else:
            where = f"{store.url}/{key_names.catalogue(tap)}"
            names = sorted(catalogue.decode(data, where, tap))
        for name in names:
            self._add(StreamKeys(tap, name))

    def _add(self, keys: StreamKeys) -> None:
        if keys not in self._streams and self.wants(keys):
            # Kept, because every poll needs it, and names are escaped byte by byte.
            self._streams[keys] = keys.manifest
            self._taps.add(keys.tap_id)


def _is_missing(look: Look) -> bool:
    if look.error is None:
        return False
    if isinstance(look.error, NotFound):
        return True
    raise look.error
