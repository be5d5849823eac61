"""The model's stand-in for a server, held against a real one: the same answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.processor_server import Server as StandIn
from tests.processor.servers import Server

FIELDS, NUMBERS = st.sampled_from("abc"), st.integers(-3, 5).map(str)
COMMANDS = st.one_of(
    st.tuples(st.just("HSET"), st.just("h"), FIELDS, NUMBERS),
    st.tuples(st.just("HSETNX"), st.just("h"), FIELDS, NUMBERS),
    st.tuples(st.just("HMGET"), st.just("h"), FIELDS, FIELDS),
    st.tuples(st.just("HGET"), st.just("h"), FIELDS),
    st.tuples(st.just("HDEL"), st.just("h"), FIELDS),
    st.tuples(st.just("HLEN"), st.just("h")),
    st.tuples(st.just("RPUSH"), st.just("x:q:l"), NUMBERS),
    st.tuples(st.just("LPUSH"), st.just("x:q:l"), NUMBERS),
    st.tuples(st.just("LPOP"), st.just("x:q:l")),
    st.tuples(st.just("LLEN"), st.just("x:q:l")),
    st.tuples(st.just("LINDEX"), st.just("x:q:l"), st.integers(0, 3).map(str)),
    st.tuples(st.just("LRANGE"), st.just("x:q:l"), st.just("0"), st.integers(-1, 3).map(str)),
    st.tuples(st.just("LTRIM"), st.just("x:q:l"), st.integers(0, 3).map(str), st.just("-1")),
    st.tuples(st.just("ZADD"), st.just("z"), NUMBERS, FIELDS),
    st.tuples(st.just("ZADD"), st.just("z"), st.just("GT"), NUMBERS, FIELDS),
    st.tuples(st.just("ZREM"), st.just("z"), FIELDS),
    st.tuples(st.just("ZSCORE"), st.just("z"), FIELDS),
    st.tuples(st.just("ZCARD"), st.just("z")),
    st.tuples(st.just("ZPOPMIN"), st.just("z")),
    st.tuples(st.just("ZRANGE"), st.just("z"), st.just("0"), st.just("0"), st.just("WITHSCORES")),
    st.tuples(st.just("ZRANGE"), st.just("z"), st.just("0"), st.just("-1")),
    st.tuples(
        st.just("ZRANGEBYSCORE"),
        st.just("z"),
        st.just("-inf"),
        NUMBERS,
        st.just("LIMIT"),
        st.just("0"),
        st.just("2"),
    ),
    st.tuples(st.just("EXISTS"), st.sampled_from(["h", "z", "x:q:l", "none"])),
    st.tuples(st.just("DEL"), st.sampled_from(["h", "z", "x:q:l", "none"])),
)


def plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    if isinstance(answer, bytes):
        return answer.decode()
    if isinstance(answer, float):
        return f"{answer:.17g}"
    return answer


@given(st.lists(COMMANDS, max_size=30))
@settings(max_examples=40)
def test_the_stand_in_answers_as_a_server_does(
    shared_valkey: Server, commands: list[tuple[str, ...]]
) -> None:
    real, stand_in = shared_valkey.client(protocol=2, db=9), StandIn()
    real.flushdb()
    for command in commands:
        expected = real.connection_pool.get_connection()
        expected.send_command(*command)
        answer = expected.read_response()
        real.connection_pool.release(expected)
        found = getattr(stand_in, f"_{command[0].lower()}")(*command[1:])
        assert plain(found) == plain(answer), command
        stand_in.thaw(stand_in.freeze())
