"""A model of processors around our own Lua files: every turn is the real script.

One key. A script may be applied and its answer lost; then it is sent again, with the flag that the
engine gives it or without, as a client library does. Leases run out at any moment while their
holder lives (`lapses` of them), and without limit once it is dead. Sinks keep (token, position).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.faults.processor_server import Frozen, Server

P, KEY = "{t:0}:", "k"


@dataclass(frozen=True)
class Worker:
    """`at`: idle, working, about to report, or dead. `lives` counts its processes."""

    at: Literal["idle", "working", "reporting", "again", "dead"] = "idle"
    token: str = ""
    positions: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    done: int = 0
    what: str = ""
    lives: int = 0


@dataclass(frozen=True)
class State:
    server: Frozen
    workers: tuple[Worker, ...]
    added: int = 0
    unanswered: bool = False
    order: tuple[int, ...] = ()
    """Positions in the order of their first processing."""

    all_positions: tuple[int, ...] = ()
    sink: tuple[int, int] = (0, 0)
    effects: tuple[str, ...] = ()
    """The values that the sink took."""

    crashes: int = 0
    lapses: int = 0
    cuts: int = 0
    failures: int = 0
    bad: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Bounds:
    events: int = 2
    workers: int = 2
    batch: int = 2
    crashes: int = 1
    lapses: int = 1
    cuts: int = 1
    failures: int = 0
    deliveries: int = 9
    at_most_once: bool = False
    flagged: bool = True
    """Whether a turn that is sent again says so."""


class ProcessorModel:
    def __init__(
        self, bounds: Bounds, change: Callable[[str, str], str] = lambda name, text: text
    ) -> None:
        self.bounds, self._server = bounds, Server(change)

    def begin(self) -> State:
        bounds = self.bounds
        return State(
            (),
            (Worker(),) * bounds.workers,
            crashes=bounds.crashes,
            lapses=bounds.lapses,
            cuts=bounds.cuts,
            failures=bounds.failures,
        )

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._add(state)
        yield from self._timers(state)
        for number, worker in enumerate(state.workers):
            yield from self._work(state, number, worker)

    # The producer

    def _add(self, state: State) -> Iterator[tuple[str, State]]:
        if state.added == self.bounds.events:
            return
        self._server.thaw(state.server)
        self._server.run(
            "add", P, KEY, "producer", state.added + 1, "", 0, 99, f"S||\nj{state.added}"
        )
        after = replace(state, server=self._server.freeze())
        positions = tuple(sorted({*state.all_positions, *self._queue()}))
        yield (
            "the producer adds",
            replace(after, added=state.added + 1, unanswered=False, all_positions=positions),
        )
        if state.cuts and not state.unanswered:
            cut = replace(after, cuts=state.cuts - 1, unanswered=True, all_positions=positions)
            yield "the producer adds, and gets no answer", cut

    def _queue(self) -> list[int]:
        return [int(one.split("|")[0]) for one in self._server.data.get(f"{P}q:{KEY}", ())]

    # Timers

    def _timers(self, state: State) -> Iterator[tuple[str, State]]:
        for index, (key, value) in enumerate(state.server):
            for member, score in value if key in (f"{P}leases", f"{P}due") else ():
                if score <= 0:
                    continue
                lapses = state.lapses
                label = f"{member} of {key[len(P) :]} is due"
                if key == f"{P}leases" and self._has_holder(state):
                    if not lapses:
                        continue
                    lapses, label = lapses - 1, "the lease runs out under its holder"
                pairs = tuple((m, -1.0 if m == member else s) for m, s in value)
                server = (*state.server[:index], (key, pairs), *state.server[index + 1 :])
                yield label, replace(state, server=server, lapses=lapses)

    def _has_holder(self, state: State) -> bool:
        token = _field(state, "t")
        return any(one.token == token and one.at not in ("idle", "dead") for one in state.workers)

    # Workers

    def _work(self, state: State, number: int, worker: Worker) -> Iterator[tuple[str, State]]:
        name = f"w{number}"
        if worker.at == "dead":
            yield f"{name}: a new process", _with(state, number, Worker(lives=worker.lives + 1))
            return
        if state.crashes and worker.at != "idle":
            dead = Worker("dead", lives=worker.lives)
            yield f"{name}: CRASH", _with(replace(state, crashes=state.crashes - 1), number, dead)
        if worker.at == "idle":
            yield from self._turn(state, number, worker, again=False)
        elif worker.at == "working":
            yield from self._callback(state, number, worker)
        else:
            yield from self._turn(state, number, worker, again=worker.at == "again")

    def _callback(self, state: State, number: int, worker: Worker) -> Iterator[tuple[str, State]]:
        name = f"w{number}"
        if worker.done == len(worker.positions):
            report = replace(worker, at="reporting", what="more")
            yield f"{name}: the batch is done", _with(state, number, report)
            return
        position = worker.positions[worker.done]
        bad, order = set(state.bad), state.order
        if position in order:
            if self.bounds.at_most_once:
                bad.add("TWICE")
        else:
            earlier = [one for one in state.all_positions if one < position and one not in order]
            if (
                any(one not in self._dead(state) for one in earlier)
                and not self.bounds.at_most_once
            ):
                bad.add("ORDER")
            order = (*order, position)
        token, last = state.sink
        effects = state.effects
        if int(worker.token or 0) >= token:
            token = int(worker.token or 0)
            if position > last:
                last = position
                effects = (*effects, worker.values[worker.done])
        after = replace(state, order=order, sink=(token, last), effects=effects, bad=frozenset(bad))
        yield (
            f"{name}: processes {position}",
            _with(after, number, replace(worker, done=worker.done + 1)),
        )
        if state.failures:
            failed = replace(state, failures=state.failures - 1)
            for what in ("fail", "later", "dead"):
                report = replace(worker, at="reporting", what=what)
                yield f"{name}: {position} ends as {what}", _with(failed, number, report)

    def _dead(self, state: State) -> set[int]:
        letters = dict(state.server).get(f"{P}dead", ())
        return {int(field.rpartition("\n")[2]) for field, _ in letters}

    def _turn(
        self, state: State, number: int, worker: Worker, again: bool
    ) -> Iterator[tuple[str, State]]:
        self._server.thaw(state.server)
        answer = self._asked(number, worker, again)
        server = self._server.freeze()
        bad = set(state.bad) | self._removed(state, server)
        after = replace(state, server=server, bad=frozenset(bad))
        status, _, grant, _ = answer
        label = f"w{number}: {worker.what or 'claims'}{' again' if again else ''}"
        if grant:
            _, token, _, _, _, _, _, *entries = grant
            positions = tuple(int(entry.split("|")[0]) for entry in entries)
            values = tuple(entry.partition("\n")[2] for entry in entries)
            got = Worker("working", str(token), positions, values, lives=worker.lives)
            yield f"{label}, gets {positions}", _with(after, number, got)
        elif server != state.server or worker.at != "idle":
            yield (
                f"{label}: {status or 'nothing'}",
                _with(after, number, Worker(lives=worker.lives)),
            )
        if state.cuts and (grant or worker.at != "idle"):
            lost = replace(worker, at="again")
            cut = replace(after, cuts=state.cuts - 1)
            yield f"{label}, and gets no answer", _with(cut, number, lost)

    def _asked(self, number: int, worker: Worker, again: bool) -> list[Any]:
        """As the engine does: the short way first, where it may be taken."""
        may_be_short = worker.what == "more" and not self.bounds.at_most_once
        if may_be_short and worker.done and not (again and self.bounds.flagged):
            last = worker.positions[worker.done - 1]
            values = (KEY, worker.token, last, worker.done, self.bounds.batch)
            found = self._server.run("more", P, *values)
            if found is not None:
                return ["ok", 0, [KEY, worker.token, 0, 1, "", "", *found[1:]], 0]
        answer: list[Any] = self._server.run("turn", P, *self._args(number, worker, again))
        return answer

    def _args(self, number: int, worker: Worker, again: bool) -> list[object]:
        bounds, client = self.bounds, f"w{number}.{worker.lives}"
        flags = "cs" + ("a" if again and bounds.flagged else "")
        head = [f"{client}/0", client, 30000, 0, 0, bounds.batch, bounds.deliveries, "skip"]
        head += ["most" if bounds.at_most_once else "least", 0, flags]
        if not worker.what:
            return [*head, "", "", "", 0, "", 0, "", "", "", "", 0]
        last = worker.positions[worker.done - 1] if worker.done else ""
        what, delay = worker.what, 1000 if worker.what in ("fail", "later") else 0
        return [*head, KEY, worker.token, last, worker.done, what, delay, "no", "", "", "1", 0]

    def _removed(self, state: State, server: Frozen) -> set[str]:
        """Whether a turn removed an event that nobody processed."""
        if self.bounds.at_most_once:
            return set()
        before = {one.split("|")[0] for one in dict(state.server).get(f"{P}q:{KEY}", ())}
        after = {one.split("|")[0] for one in dict(server).get(f"{P}q:{KEY}", ())}
        letters = {field.rpartition("\n")[2] for field, _ in dict(server).get(f"{P}dead", ())}
        gone = {int(one) for one in before - after - letters}
        return {"LOST"} if gone - set(state.order) else set()

    # Promises

    def violations(self, state: State) -> set[str]:
        found, data = set(state.bad), dict(state.server)
        token = _field(state, "t")
        holders = [
            one
            for one in state.workers
            if token and one.token == token and one.at in ("working", "reporting")
        ]
        if len(holders) > 1:
            found.add("TWO_HOLDERS")
        if token and any(member == KEY for member, _ in data.get(f"{P}ready", ())):
            found.add("READY_AND_LEASED")
        values = [one.partition("\n")[2] for one in data.get(f"{P}q:{KEY}", ())]
        if len(set(values)) != len(values):
            found.add("ADDED_TWICE")
        if len(state.all_positions) > self.bounds.events:
            found.add("ADDED_TWICE")
        return found

    def is_done(self, state: State) -> bool:
        data = dict(state.server)
        if state.added < self.bounds.events or f"{P}q:{KEY}" in data or _field(state, "t"):
            return False
        if any(one.at not in ("idle", "dead") for one in state.workers):
            return False
        if self.bounds.at_most_once:
            return True
        letters = {letter.partition("\n")[2] for _, letter in data.get(f"{P}dead", ())}
        return len({*state.effects} | letters) == self.bounds.events


def _field(state: State, name: str) -> str:
    return str(dict(dict(state.server).get(f"{P}k:{KEY}", ())).get(name, ""))


def _with(state: State, number: int, worker: Worker) -> State:
    workers = (*state.workers[:number], worker, *state.workers[number + 1 :])
    return replace(state, workers=workers)
