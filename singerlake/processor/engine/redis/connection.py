"""Connections to Redis or Valkey: scripts that are sent again until they are answered."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TimeoutError,
    TryAgainError,
)
from redis.retry import Retry

from singerlake.errors import BadLocation, PermissionDenied, Unavailable
from singerlake.processor.engine.redis.script import script
from singerlake.runtime import REAL, Runtime

PATIENCE = 30.0
"""Seconds for which a request is sent again while the server does not answer."""

ANSWER_WITHIN = 10.0
_PASSING = (
    ConnectionError,
    TimeoutError,
    ClusterDownError,
    TryAgainError,
    ReadOnlyError,
    redis.exceptions.BusyLoadingError,
    RedisClusterException,  # no node of a known Cluster answers, or none has the slot just now
)

Answer = TypeVar("Answer")


class Connection:
    """A client of one server, or of a Cluster. `url` never holds a secret."""

    def __init__(self, url: str, patience: float = PATIENCE, runtime: Runtime = REAL) -> None:
        self.runtime = runtime
        self.is_cluster = url.startswith(("redis+cluster:", "rediss+cluster:", "valkey+cluster:"))
        self.address = plain_address(url)
        self.url = without_secrets(url)
        self.patience = patience
        self._client: Any = None
        self._lock = threading.Lock()
        self._mine = threading.local()

    @property
    def client(self) -> Any:
        """redis-py's client; it does not send anything again by itself: a script has to know."""
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = self._reached(self._connect)
        return self._client

    def _connect(self) -> Any:
        options: dict[str, Any] = {
            "socket_timeout": ANSWER_WITHIN,
            "socket_connect_timeout": ANSWER_WITHIN,
            "retry": Retry(NoBackoff(), 0),
        }
        if self.is_cluster:
            return redis.RedisCluster.from_url(self.address, **options)
        return redis.Redis.from_url(self.address, **options)

    def pubsub(self) -> Any:
        """A subscriber. In a Cluster any node does: it hears what others publish."""
        client = self.client
        if not self.is_cluster:
            return client.pubsub(ignore_subscribe_messages=True)
        node = client.get_random_node()
        return client.get_redis_connection(node).pubsub(ignore_subscribe_messages=True)

    def run(self, name: str, prefix: bytes, args: Sequence[Any]) -> Any:
        return self.run_with(name, prefix, lambda _: args)

    def run_with(self, name: str, prefix: bytes, args: Callable[[bool], Sequence[Any]]) -> Any:
        """The answer of a script; `args` hears whether it is sent again."""
        wanted, client = script(name), self.client

        def send(again: bool) -> Any:
            values = args(again)
            try:
                if self.is_cluster:
                    return client.evalsha(wanted.sha, 1, prefix, *values)
                return self._answer(client, wanted.sha, prefix, values)
            except NoScriptError:
                return client.eval(wanted.text, 1, prefix, *values)

        return self._reached(send)

    def _answer(self, client: Any, sha: str, prefix: bytes, values: Sequence[Any]) -> Any:
        """The same as `client.evalsha`, at half its cost: a connection of the thread's own, and
        arguments that need no look at their type."""
        mine = self._mine
        if getattr(mine, "process", None) != os.getpid():
            mine.connection = client.connection_pool.make_connection()
            mine.process = os.getpid()
        mine.connection.send_packed_command([packed(b"EVALSHA", sha, b"1", prefix, *values)])
        return mine.connection.read_response()

    def ask(self, question: Callable[[Any], Answer]) -> Answer:
        """The answer to a request that only reads."""
        found: Answer = self._reached(lambda _: question(self.client))
        return found

    def scan(self, pattern: bytes) -> Iterator[bytes]:
        """The names that match, read on while somebody asks for more."""
        try:
            yield from self.client.scan_iter(pattern, 500)
        except (RedisError, RedisClusterException) as error:
            raise Unavailable(f"{self.url}: {error}") from error

    def _reached(self, send: Callable[..., Any]) -> Any:
        began, pause, again = self.runtime.monotonic(), 0.02, False
        while True:
            try:
                return send(again) if send != self._connect else send()
            except (AuthenticationError, NoPermissionError) as error:
                raise PermissionDenied(f"{self.url}: {error}") from error
            except _PASSING as error:
                again = True
                if isinstance(error, RedisClusterException) and send == self._connect:
                    raise Unavailable(f"{self.url}: {error}") from error
                if self.runtime.monotonic() - began > self.patience:
                    raise Unavailable(
                        f"{self.url}: no usable answer for {self.patience:g} s ({error}); start "
                        "the server, or check the address"
                    ) from error
                self.pause(pause)
                pause = min(pause * 2, 1.0)
            except RedisError as error:
                raise Unavailable(f"{self.url}: the server refused a request: {error}") from error

    def pause(self, seconds: float) -> None:
        self.runtime.wait(threading.Event(), seconds)

    def close(self) -> None:
        self._mine = threading.local()
        if self._client is not None:
            self._client.close()
            self._client = None


def packed(*parts: Any) -> bytes:
    """A command as the protocol has it; a part is bytes, text or a number."""
    out = [b"*%d\r\n" % len(parts)]
    for part in parts:
        data = part if type(part) is bytes else str(part).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(out)


def plain_address(url: str) -> str:
    """The address as redis-py reads it, without what is ours."""
    parts = urlsplit(url)
    scheme = parts.scheme.removesuffix("+cluster").replace("valkey", "redis")
    if scheme not in ("redis", "rediss"):
        raise BadLocation(
            f"{without_secrets(url)}: expected redis://, rediss://, redis+cluster:// or valkey://"
        )
    return urlunsplit((scheme, parts.netloc, parts.path, "", ""))


def without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
