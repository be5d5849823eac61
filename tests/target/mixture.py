"""What taps of many streams send: lines of any kind in any order, as Hypothesis makes them up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.target.driving import schema

STREAMS = [f"s{number}" for number in range(12)]
KEYS = [("id",), ("at", "id"), (), ("at",), ("ключ",), ('with"quote',)]

VALUES = {"id": 1, "at": "2026-01-02T03:04:05Z", "ключ": None, 'with"quote': [{}], "more": "é" * 3}
TIMES = [
    "2026-01-02T03:04:05.000001+00:00",
    "2026-01-02T05:04:05+02:00",
    "2026-01-01T00:00:00Z",
    None,
]

streams = st.sampled_from(STREAMS)
orders = st.permutations(list(VALUES))
spaces = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@dataclass(frozen=True)
class Sent:
    stream: str
    line: bytes


@st.composite
def record_lines(draw: st.DrawFn, records: st.SearchStrategy[dict] | None = None) -> Sent:  # type: ignore[type-arg]
    """A RECORD line that holds every key, its members in any order, with any spacing."""
    name = draw(streams)
    whole = {key: VALUES[key] for key in draw(orders)}
    members = {
        "type": "RECORD",
        "stream": name,
        "record": draw(records) if records else whole,
        "time_extracted": draw(st.sampled_from(TIMES)),
    }
    order = draw(st.permutations(list(members)))
    content = {key: members[key] for key in order if members[key] is not None}
    ascii_only = draw(st.booleans())
    line = json.dumps(content, separators=draw(spaces), ensure_ascii=ascii_only)
    padding = draw(st.sampled_from(["", "", "", " ", "\r"]))
    return Sent(name, (line + padding).encode())


@st.composite
def schema_lines(draw: st.DrawFn) -> Sent:
    name = draw(streams)
    more = draw(st.sampled_from([{}, {"more": {"type": "string"}}]))
    return Sent(name, schema(name, draw(st.sampled_from(KEYS)), **more).encode())


states = st.sampled_from(
    [b'{"type":"STATE","value":{"at":0}}', b'{"type":"STATE", "value": {"at": 0} }']
)
others = st.one_of(
    states, states, st.sampled_from([b'{"type":"STATE", "value": {}}', b"", b" ", b"\t"])
).map(lambda line: Sent("", line))
activations = streams.map(
    lambda name: Sent(
        name, b'{"type":"ACTIVATE_VERSION","stream":"%s","version":1}' % name.encode()
    )
)
sent_lines = st.lists(
    st.one_of(*[record_lines()] * 12, schema_lines(), others, others, activations), max_size=60
)

WAYS = {
    "as it is": lambda line: line,
    "unpadded": bytes.rstrip,
    "without blank lines": lambda line: line.rstrip() or b'{"type":"ODD"}',
}
"""One line that is not plain has all of its block taken in another way: so there are blocks
without."""


def sent_as(way: str, lines: Iterable[Sent]) -> list[Sent]:
    """The lines, tidied in one of these ways, with a number in each STATE."""
    found = [replace(one, line=WAYS[way](one.line)) for one in lines]
    return [
        replace(one, line=one.line.replace(b"0}", b"%d}" % number)) if is_state(one.line) else one
        for number, one in enumerate(found, 1)
    ]


def is_state(line: bytes) -> bool:
    return b'"STATE"' in line


def is_stored(line: bytes) -> bool:
    return b'"RECORD"' in line or b"ACTIVATE" in line


RECORD = b'{"type":"RECORD","stream":"s0","record":{"id":1,"at":1}}'
STATE = b'{"type":"STATE","value":{"at":0}}'
AROUND_STATES = [Sent(name, line) for name, line in [("s0", RECORD), ("", STATE)] * 2]
BLANK = Sent("", b"")
