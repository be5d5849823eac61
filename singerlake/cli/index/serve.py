"""`singerlake index serve`: answers questions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from singerlake.cli.extra import extra_module
from singerlake.cli.index.follow import complain_of
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.service import PACKAGES, ServiceOptions, listen_options, service_command
from singerlake.cli.storage_options import options_of_output
from singerlake.lake import Lake
from singerlake.metrics import Metrics
from singerlake.runtime import REAL
from singerlake.store import Store, open_store

uploads_option = click.option(
    "--uploads",
    "uploads_url",
    metavar="URL",
    help="Where datalake clients push files to, such as s3://bucket.",
)


@service_command("INDEX")
@root_arguments()
@index_option
@click.option("--follow", is_flag=True, help="Keep the index up to date meanwhile.")
@uploads_option
@click.option(
    "--public-url",
    metavar="URL",
    help="Where clients find this service, if not at the host that they ask for: behind a proxy.",
)
@listen_options("127.0.0.1:8080")
def serve(
    root: Root,
    index_url: str | None,
    follow: bool,
    uploads_url: str | None,
    public_url: str | None,
    service: ServiceOptions,
) -> None:
    """Answer questions over HTTP.

    Serves the index of the lake at ROOT: the v0 API of datalake, read-only, with an OpenAPI
    document at /spec/, /health and /metrics; until SIGTERM or Ctrl-C, which is no error. One line
    says where, once it answers. Settings may be variables $SINGERLAKE_INDEX_LISTEN and so on, too.

    \b
    Examples:
      singerlake index serve ./lake --follow
      singerlake index serve s3://bucket/lake --listen 0.0.0.0:8080 --token-file token
      datalake --http-url http://127.0.0.1:8080 list orders --start 2026-03-01 --end now
    """
    api: Any = extra_module("index.api.app", "index", PACKAGES)
    archive: Any = index_module("api.archive")
    kit: Any = extra_module("http.service", "index", PACKAGES)
    lake, metrics = root.lake(), Metrics.create()
    storage = open_storage(lake, index_url, create=follow)
    try:
        require_lake(storage, lake)
        found = archive.Archive(storage, lake, uploads_store(root, uploads_url))
        with service.pushing(metrics), _following(follow, storage, lake):
            service.run(
                kit.Service(
                    api.index_app(found, public_url),
                    service.limits,
                    token=service.token,
                    metrics=metrics,
                    hosts=service.hosts(public_url),
                )
            )
    finally:
        storage.close()


def require_lake(storage: Any, lake: Lake) -> None:
    """Raises `ConfigError` where the index is of another lake."""
    if storage.lake_id not in (None, lake.lake_id()):
        storage.bind(lake.lake_id())


def uploads_store(root: Root, url: str | None) -> Store | None:
    if url is None:
        return None
    return open_store(url, options_of_output(root.url, root.options, url, None))


@contextmanager
def _following(follow: bool, storage: Any, lake: Lake) -> Iterator[None]:
    if not follow:
        yield
        return
    ingester = index_module("ingester").Ingester(storage, lake, on_failure=complain_of)
    thread = REAL.start(ingester.run, "singerlake-index")
    try:
        yield
    finally:
        ingester.close()
        thread.join(1)
