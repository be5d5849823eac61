"""A DuckDB connection with the views of a lake."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import duckdb

from singerlake.errors import ConfigError, DamageError, InputError, SingerlakeError, UnknownTap
from singerlake.lake import Lake, Stream, Tap
from singerlake.lake.parallel import in_parallel
from singerlake.lake.scratch import TemporaryFolder, temporary_folder
from singerlake.projection.version import published_streams
from singerlake.sql.connection import open_connection
from singerlake.sql.name import quoted
from singerlake.sql.request import SqlRequest
from singerlake.sql.statement import one_line
from singerlake.sql.table.published import PublishedTable, published_table
from singerlake.sql.table.scans import Scans
from singerlake.sql.table.stream import StreamTable, stream_table
from singerlake.sql.view import View, views
from singerlake.store import Store

logger = logging.getLogger("singerlake.sql")


@dataclass
class Session:
    """A connection, the views that it can have, and what its scans find.

    `broken` has the views that cannot be made, each with the reason; the others can be queried.
    """

    request: SqlRequest
    store: Store
    output: Store | None
    views: tuple[View, ...]
    scans: Scans
    folder: TemporaryFolder
    connection: duckdb.DuckDBPyConnection
    broken: dict[View, SingerlakeError] = field(default_factory=dict)

    def close(self) -> None:
        self.connection.close()
        self.folder.cleanup()

    def add(self, chosen: Iterable[View]) -> None:
        """Make these views. The manifest and the schemas of each stream are read now."""
        found = list(chosen)
        for view, table in zip(found, in_parallel(self._table, found), strict=True):
            if isinstance(table, SingerlakeError):
                self.broken[view] = table
            else:
                self._create(view, table)
        self.connection.execute("use memory.main")

    def _table(self, view: View) -> StreamTable | PublishedTable | SingerlakeError:
        try:
            if view.catalog == "published" and self.output is not None:
                return published_table(self.output, view.tap_id, view.stream, self.scans)
            return stream_table(self.store, view.tap_id, view.stream, self.request, self.scans)
        except SingerlakeError as error:
            return error

    def _create(self, view: View, table: StreamTable | PublishedTable) -> None:
        try:
            relation = table.relation(self.connection)
            self._put(relation, view, view.schema)
        except duckdb.Error as error:
            self.broken[view] = ConfigError(f"{view.sql}: DuckDB cannot read it: {one_line(error)}")
            return
        if view.is_only:
            with suppress(duckdb.Error):  # DuckDB has views of its own there
                self._put(relation, view, "main")

    def _put(self, relation: duckdb.DuckDBPyRelation, view: View, schema: str) -> None:
        place = f"{view.catalog}.{quoted(schema)}"
        self.connection.execute(f"create schema if not exists {place}")
        self.connection.execute(f"use {place}")
        relation.create_view(view.name, replace=False)


def open_session(request: SqlRequest, *, logs_misfits: bool = False) -> Session:
    """A session with no view yet. Raises `NotALake`."""
    lake, output = request.lake(), request.output()
    known = tuple(_views(lake, output))
    scans, folder = Scans(logs_misfits), temporary_folder()
    # Whoever has the connection alone closes no session: the folder goes with the last view.
    weakref.finalize(scans, folder.cleanup)
    return Session(request, lake.store, output, known, scans, folder, open_connection(folder.name))


def known_views(request: SqlRequest) -> list[View]:
    """The views that a session can have. Raises `NotALake`."""
    return _views(request.lake(), request.output())


def _views(lake: Lake, output: Store | None) -> list[View]:
    known = views(_streams(lake), "memory")
    if output is not None:
        known += views(((k.tap_id, k.stream) for k in published_streams(output)), "published")
    return known


def _streams(lake: Lake) -> list[tuple[str, str]]:
    found = in_parallel(_streams_of, lake.taps())
    return [(stream.tap_id, stream.name) for streams in found for stream in streams]


def _streams_of(tap: Tap) -> list[Stream]:
    """A damaged catalogue hides no other tap."""
    try:
        return tap.streams()
    except (DamageError, InputError, UnknownTap) as error:
        logger.warning("tap %r has no views: %s", tap.tap_id, error)
        return []
