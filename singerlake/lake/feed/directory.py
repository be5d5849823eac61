"""The streams that a feed is about: found through the lake document and the catalogues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from singerlake.errors import BadName, ConfigError, NotFound, SingerlakeError
from singerlake.format import catalogue, lake_document
from singerlake.format import keys as key_names
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.lake import registry
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.follower import Follower, Look


class Directory:
    """Which taps and streams there are, as far as they are wanted; None wants all.

    Names that are wanted are followed before they exist; raises `BadName` where they never can,
    and `ConfigError` for a name where names are expected.
    What was there once stays: a stream that vanishes from its catalogue has to be noticed.
    """

    def __init__(
        self,
        follower: Follower,
        taps: Collection[str] | None,
        streams: Collection[str] | None,
        cursor: Cursor,
    ) -> None:
        for names in (taps, streams):
            if isinstance(names, str):  # its letters would be names, and no event ever come
                raise ConfigError(
                    f"expected a list of names to follow, found {names!r}; write [{names!r}]"
                )
        self._follower = follower
        self._wanted_taps, self._wanted_streams = taps, streams
        self._taps: set[str] = set(taps or ())
        self._streams: dict[StreamKeys, str] = {}
        self._seen: dict[str, int] = {}
        for name in (*self._taps, *(streams or ())):
            key_names.escape(name)  # raises BadName
        self.add(StreamKeys(tap, stream) for tap in self._taps for stream in streams or ())
        self.add(StreamKeys(tap, stream) for tap, stream in cursor.bookmarks)
        if taps is None:
            self._taps.update(filter(_is_name, cursor.runs))

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

    def add(self, streams: Iterable[StreamKeys]) -> list[StreamKeys]:
        """Follow those of these streams that are wanted, and can exist; returns them."""
        found = [
            keys
            for keys in streams
            if self.wants(keys) and _is_name(keys.tap_id) and _is_name(keys.stream)
        ]
        for keys in found:
            if keys not in self._streams:
                # Kept, because every poll needs it, and names are escaped byte by byte.
                self._streams[keys] = keys.manifest
            self._taps.add(keys.tap_id)
        return found

    def refresh(self) -> dict[tuple[str, str], SingerlakeError | None]:
        """Look for new names; returns for each document, and the tap that it is about, "" for the
        lake, why it could not be read."""
        found: dict[tuple[str, str], SingerlakeError | None] = {}
        if self._wanted_taps is None:
            key = key_names.LAKE_DOCUMENT
            found[key, ""] = self._read(key, self._read_taps)
        if self._wanted_streams is None or self._wanted_taps is None:
            catalogues = {key_names.catalogue(tap): tap for tap in self.taps}
            self._follower.look(list(catalogues))
            for key, tap in catalogues.items():
                found[key, tap] = self._read(key, partial(self._read_streams, tap))
        return found

    def keys_of(self, tap: str) -> list[str]:
        """The documents that say which streams a tap has. That of an unknown tap is read anyway
        once the lake document names it."""
        known = [key_names.catalogue(tap), RunKeys(tap).log] if tap in self._taps else []
        return [key_names.LAKE_DOCUMENT, *known]

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
            self._taps.update(filter(_is_name, lake_document.decode(data, where)["taps"]))

    def _read_streams(self, tap: str, data: bytes | None) -> None:
        store = self._follower.store
        if data is None:
            names = registry.names_in(store, key_names.tap_folder(tap))
        else:
            where = f"{store.url}/{key_names.catalogue(tap)}"
            names = sorted(catalogue.decode(data, where, tap))
        self.add(StreamKeys(tap, name) for name in names)


def _is_name(name: str) -> bool:
    """Whether a tap or a stream can have this name. A document that somebody wrote by hand can
    have any."""
    try:
        key_names.escape(name)
    except BadName:
        return False
    return True


def _is_missing(look: Look) -> bool:
    if look.error is None:
        return False
    if isinstance(look.error, NotFound):
        return True
    raise look.error
