"""The original design's protocol with real processes, as a control: see processor_original.py."""

from __future__ import annotations

import json
import os
import time

import redis

from tests.faults.processor_worker import Ground, open_sink

NOT_SEEN = 1.0
"""Seconds after which a client is taken for dead."""


def add(client: redis.Redis, key: str, number: int) -> None:
    client.rpush("old:pending", key)
    client.rpush(f"old:events:{key}", number)


def work_as_before(ground: Ground) -> None:
    client = redis.Redis.from_url(ground.engine)
    me = f"{os.getpid()}"
    calls = os.open(ground.calls, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    sink = open_sink(ground.sink)
    while True:
        try:
            client.hset("old:seen", me, time.time())
            _monitor(client, me)
            moved = client.blmove("old:pending", f"old:moving:{me}", 0.2, "LEFT", "RIGHT")
            if moved is None:
                continue
            key = moved.decode()
            if client.set(f"old:lock:{key}", me, nx=True):
                client.rpush(f"old:active:{me}", key)
                client.delete(f"old:moving:{me}")
                _process(client, me, key, calls, sink)
            else:
                client.delete(f"old:moving:{me}")
        except redis.exceptions.RedisError:
            time.sleep(0.02)


def _process(client: redis.Redis, me: str, key: str, calls: int, sink: object) -> None:
    while (event := client.lindex(f"old:events:{key}", 0)) is not None:
        number = int(event)
        os.write(calls, (json.dumps([key, number, 0, 0]) + "\n").encode())
        sink.execute("INSERT INTO effects VALUES (?, ?)", (key, number))  # type: ignore[attr-defined]
        client.lpop(f"old:events:{key}")
        client.hset("old:seen", me, time.time())
    client.lrem(f"old:active:{me}", 1, key)
    if client.get(f"old:lock:{key}") == me.encode():
        client.delete(f"old:lock:{key}")


def _monitor(client: redis.Redis, me: str) -> None:
    for other, seen in client.hgetall("old:seen").items():
        if other.decode() == me or time.time() - float(seen) < NOT_SEEN:
            continue
        client.hdel("old:seen", other)
        for kind in ("active", "moving"):
            name = f"old:{kind}:{other.decode()}"
            while (key := client.lpop(name)) is not None:
                client.delete(f"old:lock:{key.decode()}")
                client.rpush("old:pending", key)
