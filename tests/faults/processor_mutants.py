"""Broken variants of the Lua files: each lacks one safeguard, and the model must see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.processor_model import Bounds

USUAL = Bounds()


@dataclass(frozen=True)
class Mutant:
    name: str
    old: str
    new: str
    expected: str
    bounds: Bounds = USUAL

    def change(self) -> Callable[[str, str], str]:
        def changed(name: str, text: str) -> str:
            return text.replace(self.old, self.new)

        return changed


MUTANTS = [
    Mutant(
        "a token that nobody compares",
        "if state.t == '' or state.t ~= ARGV[13] then return 'lost' end",
        "",
        "TWO_HOLDERS",
        Bounds(batch=1, lapses=2, cuts=0),
    ),
    Mutant(
        "an acknowledgement that pops so many, wherever the queue is",
        "if count > 0 and not at_most_once and state.h ~= position then\n"
        "    local last = call('LINDEX', P .. 'q:' .. key, count - 1)\n"
        "    if not last or parse(last) ~= position then return 'lost' end",
        "if count > 0 and not at_most_once then\n",
        "LOST",
        Bounds(batch=1, lapses=0, crashes=0),
    ),
    Mutant(
        "leases that nobody takes from the dead",
        "if string.find(ARGV[11], 's') then sweep() end",
        "",
        "STRANDED",
    ),
    Mutant(
        "an event that makes a leased key ready",
        "if state.t ~= '' or state.w ~= '' then return end",
        "if state.w ~= '' then return end",
        "READY_AND_LEASED",
    ),
    Mutant(
        "a key that is let go without a look at its queue",
        "  else state.c, state.u = '', '' end\n  make_ready(key, state, length)\n",
        "  else state.c, state.u = '', '' end\n",
        "STRANDED",
        Bounds(failures=1, crashes=0, lapses=0, cuts=0),
    ),
    Mutant(
        "an event that is added again when its answer was lost",
        "if call('GET', P .. 'sent:' .. producer) == request then return 'again' end",
        "",
        "ADDED_TWICE",
    ),
    Mutant(
        "a back-off that has no end",
        "call('ZADD', P .. 'due', now + delay, 'b' .. key)",
        "",
        "STRANDED",
        Bounds(failures=1, crashes=0, lapses=0, cuts=0),
    ),
    Mutant(
        "numbers that begin anew when a key is forgotten",
        "call('ZADD', P .. 'floor', 'GT',",
        "call('ZADD', P .. 'other', 'GT',",
        "STRANDED",  # the sink takes the new event for an old one
        Bounds(crashes=0, lapses=0, cuts=0),
    ),
    Mutant(
        "a token that is the same for every holder",
        "state.k = text(math.max(last + 1, us))",
        "state.k = '1'",
        "TWO_HOLDERS",
        Bounds(crashes=0, cuts=0),
    ),
    Mutant(
        "deliveries that are not counted when handed out",
        "else state.n = text(num(state.n) + 1) end",
        "end",
        "ENDLESS",
        Bounds(crashes=3, lapses=0, cuts=0, deliveries=2),
    ),
    Mutant(
        "at most once that removes the event with its acknowledgement",
        "  if at_most_once then\n    call('LPOP', P .. 'q:' .. key)\n"
        "    advance(state, state.f)\n  else",
        "  if false then\n  else",
        "TWICE",
        Bounds(at_most_once=True),
    ),
]
