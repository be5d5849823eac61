"""A stand-in for a Redis server, for one thread: runs our Lua files, and can be copied.

Its clock stands still; a model lets timers run out by hand. `tests/processor/test_stand_in.py`
holds it against a real server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lupa.lua51 as lupa

from singerlake.processor.engine.redis.script import script

Frozen = tuple[tuple[str, Any], ...]


class Server:
    """Strings are str, lists tuples, hashes and sorted sets dicts."""

    def __init__(self, change: Callable[[str, str], str] = lambda name, text: text) -> None:
        self.data: dict[str, Any] = {}
        self.published: list[str] = []
        self._change = change
        self._lua = lupa.LuaRuntime(encoding="utf-8", unpack_returned_tuples=True)
        self._lua.globals().python_call = self._call
        self._lua.execute("redis = {call = function(...) return python_call(...) end}")
        self._functions: dict[str, Any] = {}

    def freeze(self) -> Frozen:
        return tuple(
            (key, tuple(sorted(value.items())) if isinstance(value, dict) else value)
            for key, value in sorted(self.data.items())
        )

    def thaw(self, frozen: Frozen) -> None:
        self.data = {key: dict(value) if _is_pairs(key, value) else value for key, value in frozen}

    def run(self, name: str, prefix: str, *args: Any) -> Any:
        """What a script answers: nested lists."""
        if name not in self._functions:
            text = self._change(name, script(name).text)
            self._functions[name] = self._lua.eval(f"function(KEYS, ARGV)\n{text}\nend")
        keys = self._lua.table_from([prefix])
        values = self._lua.table_from([str(arg) for arg in args])
        return self._plain(self._functions[name](keys, values))

    def _plain(self, value: Any) -> Any:
        if lupa.lua_type(value) == "table":
            return [self._plain(value[number]) for number in range(1, len(value) + 1)]
        return int(value) if isinstance(value, float) else value

    def _call(self, command: str, *args: Any) -> Any:
        found = getattr(self, f"_{command.lower()}")(*(_text(arg) for arg in args))
        if isinstance(found, list):
            return self._lua.table_from([False if one is None else one for one in found])
        return False if found is None else found

    def _put(self, key: str, value: Any) -> None:
        if value:
            self.data[key] = value
        else:
            self.data.pop(key, None)

    def _time(self) -> list[str]:
        return ["0", "0"]

    # Strings

    def _get(self, key: str) -> str | None:
        found: str | None = self.data.get(key)
        return found

    def _set(self, key: str, value: str, *options: str) -> str:
        self.data[key] = value
        return "OK"

    def _exists(self, key: str) -> int:
        return int(key in self.data)

    def _del(self, *keys: str) -> int:
        return sum(self.data.pop(key, None) is not None for key in keys)

    # Hashes

    def _hget(self, key: str, field: str) -> str | None:
        found: str | None = self.data.get(key, {}).get(field)
        return found

    def _hmget(self, key: str, *fields: str) -> list[str | None]:
        return [self.data.get(key, {}).get(field) for field in fields]

    def _hset(self, key: str, *pairs: str) -> int:
        found = self.data.setdefault(key, {})
        before = len(found)
        found.update(zip(pairs[::2], pairs[1::2], strict=True))
        return len(found) - before

    def _hsetnx(self, key: str, field: str, value: str) -> int:
        if field in self.data.get(key, {}):
            return 0
        return self._hset(key, field, value)

    def _hdel(self, key: str, *fields: str) -> int:
        found = self.data.get(key, {})
        gone = sum(found.pop(field, None) is not None for field in fields)
        self._put(key, found)
        return gone

    def _hkeys(self, key: str) -> list[str | None]:
        return [*self.data.get(key, {})]

    def _hlen(self, key: str) -> int:
        return len(self.data.get(key, {}))

    # Lists

    def _llen(self, key: str) -> int:
        return len(self.data.get(key, ()))

    def _rpush(self, key: str, *values: str) -> int:
        self.data[key] = self.data.get(key, ()) + values
        return len(self.data[key])

    def _lpush(self, key: str, *values: str) -> int:
        self.data[key] = values[::-1] + self.data.get(key, ())
        return len(self.data[key])

    def _lpop(self, key: str) -> str | None:
        found = self.data.get(key, ())
        self._put(key, found[1:])
        return found[0] if found else None

    def _lindex(self, key: str, index: str) -> str | None:
        found = self.data.get(key, ())
        return found[int(index)] if int(index) < len(found) else None

    def _lrange(self, key: str, first: str, last: str) -> list[str | None]:
        return list(self.data.get(key, ())[_slice(first, last)])

    def _ltrim(self, key: str, first: str, last: str) -> str:
        self._put(key, self.data.get(key, ())[_slice(first, last)])
        return "OK"

    # Sorted sets

    def _zadd(self, key: str, *args: str) -> int:
        found = self.data.setdefault(key, {})
        *options, score, member = args
        is_new = member not in found
        if "GT" not in options or is_new or found[member] < float(score):
            found[member] = float(score)
        return int(is_new)

    def _zrem(self, key: str, *members: str) -> int:
        return self._hdel(key, *members)

    def _zscore(self, key: str, member: str) -> str | None:
        found = self.data.get(key, {}).get(member)
        return None if found is None else f"{found:.17g}"

    def _zcard(self, key: str) -> int:
        return len(self.data.get(key, {}))

    def _ranked(self, key: str) -> list[tuple[str, float]]:
        return sorted(self.data.get(key, {}).items(), key=lambda pair: (pair[1], pair[0]))

    def _zpopmin(self, key: str) -> list[str | None]:
        ranked = self._ranked(key)
        if not ranked:
            return []
        member, score = ranked[0]
        self._hdel(key, member)
        return [member, f"{score:.17g}"]

    def _zrange(self, key: str, first: str, last: str, *options: str) -> list[str | None]:
        chosen = self._ranked(key)[_slice(first, last)]
        if not options:
            return [member for member, _ in chosen]
        return [part for member, score in chosen for part in (member, f"{score:.17g}")]

    def _zrangebyscore(self, key: str, least: str, most: str, *limit: str) -> list[str | None]:
        found = [member for member, score in self._ranked(key) if score <= float(most)]
        return list(found[: int(limit[2])] if limit else found)

    def _publish(self, channel: str, message: str) -> int:
        self.published.append(channel)
        return 1


def _slice(first: str, last: str) -> slice:
    return slice(int(first), None if last == "-1" else int(last) + 1)


def _is_pairs(key: str, value: Any) -> bool:
    """Queues are the only lists."""
    return isinstance(value, tuple) and ":q:" not in f":{key.rpartition('}')[2]}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.17g}"
    return value if isinstance(value, str) else str(value)
