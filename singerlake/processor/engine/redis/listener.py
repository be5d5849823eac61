"""Waiting for news of a server: one subscription, and no request while nothing happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from singerlake.processor.engine.base import Listener
from singerlake.processor.engine.redis.connection import Connection


class RedisListener(Listener):
    """One subscription to all shards, whichever node has them."""

    def __init__(self, connection: Connection, channels: Sequence[bytes]) -> None:
        self._connection, self._channels = connection, channels
        self._pubsub: Any = None

    def wait(self, seconds: float) -> None:
        try:
            if self._pubsub is None:
                pubsub = self._connection.pubsub()
                pubsub.subscribe(*self._channels)
                # What came before the subscription was heard by nobody: look again.
                self._pubsub = pubsub
                return
            self._pubsub.get_message(ignore_subscribe_messages=True, timeout=seconds)
        except (RedisError, OSError, ValueError):
            # The next turn finds out what is wrong, and waits for the server.
            self.close()
            self._connection.pause(min(seconds, 0.2))

    def interrupt(self) -> None:
        self._connection.ask(lambda client: client.publish(self._channels[0], b""))

    def close(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            pubsub.close()
