"""Which engine an address means."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from singerlake.errors import BadLocation, ConfigError
from singerlake.processor.engine.base import BACKLOG, Engine
from singerlake.runtime import REAL, Runtime

KNOWN = ("backlog", "namespace", "scheduling", "shards", "synchronous")


def open_engine(url: str, *, runtime: Runtime = REAL, **settings: str | int) -> Engine:
    """Open the engine at an address, and make it where there is none.

    `sqlite:///work.db` is a file below the working directory, `sqlite:////var/work.db` an absolute
    path, `sqlite:///:memory:` this process alone. `redis://host:6379/0`, `rediss://` and
    `valkey://` are a server, `redis+cluster://host:6379` a Cluster. Settings go behind `?`, or are
    given by name: `namespace`, `shards`, `backlog`, `scheduling` (`off` refuses `delay` and `at`),
    and for SQLite `synchronous` (`full`, or `normal`, which a power cut may cost the last events).

    Raises `BadLocation`, `ConfigError`, `UnsupportedFormat` and `Unavailable`.
    """
    parts = urlsplit(url)
    given = {**dict(parse_qsl(parts.query)), **settings}
    if unknown := sorted(set(given) - set(KNOWN)):
        raise ConfigError(f"{unknown[0]!r} is no setting of an engine; known: {', '.join(KNOWN)}")
    backlog = _number(given.get("backlog", BACKLOG), "backlog")
    engine: Engine
    if parts.scheme == "sqlite":
        from singerlake.processor.engine.sqlite.engine import SqliteEngine

        path = url.partition("?")[0].removeprefix("sqlite://").removeprefix("/")
        engine = SqliteEngine(
            path or ":memory:", backlog, str(given.get("synchronous", "full")), runtime
        )
    elif parts.scheme.partition("+")[0] in ("redis", "rediss", "valkey"):
        try:
            from singerlake.processor.engine.redis.engine import RedisEngine
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"this engine needs {error.name}, which is missing: "
                'pip install "singerlake[processor]"'
            ) from error
        shards = given.get("shards")
        engine = RedisEngine(
            url,
            str(given.get("namespace", "singerlake")),
            None if shards is None else _number(shards, "shards"),
            backlog,
            runtime,
        )
    else:
        raise BadLocation(
            f"{parts.scheme or url!r}: expected an engine such as sqlite:///work.db, "
            "redis://host:6379/0 or redis+cluster://host:6379"
        )
    engine.scheduling = str(given.get("scheduling", "on")) != "off"
    engine.open()
    return engine


def _number(value: str | int, name: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"{name}: expected a number of at least 1, found {value!r}")
    return number
