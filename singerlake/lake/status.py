"""Whether a lake may be written: one word in the lake document, which somebody sets and ends."""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.errors import CorruptDocument, NotALake, NotFound, ReadOnly, UnsupportedFormat
from singerlake.format import keys as key_names
from singerlake.format import lake_document
from singerlake.lake import registry
from singerlake.store import Store


@dataclass(frozen=True)
class Status:
    """What the lake document says. `name` is "" where the lake may be written."""

    name: str = ""
    reason: str = ""

    @property
    def is_read_only(self) -> bool:
        """What a newer program has set, and this one does not know, is no leave to write."""
        return bool(self.name)

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def read(store: Store) -> Status:
    """The lake's status: one request."""
    try:
        return status_in(store.read(key_names.LAKE_DOCUMENT).data, store.url)
    except NotFound:
        return Status()


def status_in(data: bytes, url: str) -> Status:
    """The status in a lake document; none in one that cannot be read at all."""
    try:
        body = lake_document.decode_head(data, f"{url}/{key_names.LAKE_DOCUMENT}")
    except (CorruptDocument, UnsupportedFormat):
        return Status()
    return Status(lake_document.status(body), lake_document.status_reason(body))


def change(store: Store, name: str, reason: str = "") -> None:
    """Set the status, or end it with "". `store` must not be one that refuses to write.

    Raises `NotALake` where there is no lake document.
    """
    where = f"{store.url}/{key_names.LAKE_DOCUMENT}"

    def with_status(data: bytes | None) -> bytes | None:
        if data is None:
            raise NotALake(
                f"{where}: expected a lake document, found none; `singerlake rebuild` makes one"
            )
        body = lake_document.decode_head(data, where)
        changed = lake_document.with_status(body, name, reason)
        return lake_document.encode(changed) if changed != body else None

    registry.update(store, key_names.LAKE_DOCUMENT, with_status)


def refusal(url: str, status: Status) -> ReadOnly:
    known = (
        "" if status.name == lake_document.READ_ONLY else ", which this Singerlake does not know"
    )
    return ReadOnly(
        f"{url}: the lake is {status}{known}, so that nothing in it may be changed; readers go on. "
        "Wait until it is writable again; whoever set it ends it by `singerlake read-only --off`"
    )
