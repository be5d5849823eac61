"""The protocol of the original design, one Redis command a step: a control, which must fail.

A list of pending keys, a lock per key, a list of events, and per client a list of keys in work. A
start event pushes its key to the pending list, then the event to the key's list. A client moves a
key from the pending list, locks it, processes until the list is empty for a while, removes the key
from its list, and unlocks. A monitor gives the keys of a client that was not seen for long to
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Client:
    """`takes`: where its consumer is; `works`: where its processor of the key is."""

    alive: bool = True
    takes: str = "wait"
    works: str = ""
    event: int = 0
    session: int = 0
    is_active: bool = False
    is_moving: bool = False


@dataclass(frozen=True)
class State:
    clients: tuple[Client, ...]
    pending: int = 0
    queue: tuple[int, ...] = ()
    lock: tuple[int, int] | None = None
    added: int = 0
    is_pushed: bool = False
    effects: tuple[int, ...] = ()
    sessions: int = 0
    crashes: int = 0
    pauses: int = 0
    idle: int = 0
    bad: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Original:
    events: int = 2
    clients: int = 2
    crashes: int = 0
    pauses: int = 0
    idle: int = 0
    at_most_once: bool = False

    def begin(self) -> State:
        clients = (Client(),) * self.clients
        return State(clients, crashes=self.crashes, pauses=self.pauses, idle=self.idle)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._produce(state)
        for number, client in enumerate(state.clients):
            if client.alive:
                if state.crashes:
                    dead = replace(client, alive=False)
                    crashed = replace(state, crashes=state.crashes - 1)
                    yield f"c{number}: CRASH", _with(crashed, number, dead)
                yield from self._take(state, number, client)
                yield from self._process(state, number, client)
            yield from self._monitor(state, number, client)

    def _produce(self, state: State) -> Iterator[tuple[str, State]]:
        if state.added == self.events:
            return
        if not state.is_pushed:
            pushed = replace(state, pending=state.pending + 1, is_pushed=True)
            yield "producer: RPUSH pending", pushed
        else:
            event = state.added + 1
            queue = (*state.queue, event)
            yield "producer: RPUSH list", replace(state, queue=queue, added=event, is_pushed=False)

    def _take(self, state: State, number: int, client: Client) -> Iterator[tuple[str, State]]:
        name = f"c{number}"
        if client.takes == "wait" and state.pending:
            moving = replace(client, takes="lock", is_moving=True)
            moved = replace(state, pending=state.pending - 1)
            yield f"{name}: BLMOVE", _with(moved, number, moving)
        elif client.takes == "lock" and state.lock is None and not client.works:
            session = state.sessions + 1
            locked = replace(state, lock=(number, session), sessions=session)
            holds = replace(client, takes="activate", session=session)
            yield f"{name}: SET lock NX", _with(locked, number, holds)
        elif client.takes == "lock" and state.lock is not None:
            yield f"{name}: the lock is held", _with(state, number, replace(client, takes="trim"))
        elif client.takes == "activate":
            works = replace(client, takes="trim", works="fetch", is_active=True)
            yield f"{name}: RPUSH active", _with(state, number, works)
        elif client.takes == "trim":
            waits = replace(client, takes="wait", is_moving=False)
            yield f"{name}: LTRIM offload", _with(state, number, waits)

    def _process(self, state: State, number: int, client: Client) -> Iterator[tuple[str, State]]:
        name = f"c{number}"
        if client.works == "fetch" and state.queue:
            begun = replace(client, works="call", event=state.queue[0])
            queue = state.queue[1:] if self.at_most_once else state.queue
            yield f"{name}: begins {begun.event}", _with(replace(state, queue=queue), number, begun)
        elif client.works == "fetch" and state.idle:
            ended = replace(client, works="remove")
            idle = replace(state, idle=state.idle - 1)
            yield f"{name}: nothing for a while", _with(idle, number, ended)
        elif client.works == "call":
            effects = (*state.effects, client.event)
            after = "fetch" if self.at_most_once else "pop"
            ended = replace(client, works=after, event=0 if self.at_most_once else client.event)
            yield (
                f"{name}: ends {client.event}",
                _with(replace(state, effects=effects), number, ended),
            )
        elif client.works == "pop":
            bad = state.bad
            if state.queue and state.queue[0] not in state.effects:
                bad = bad | {"LOST"}
            popped = replace(state, queue=state.queue[1:], bad=bad)
            yield f"{name}: LPOP", _with(popped, number, replace(client, works="fetch", event=0))
        elif client.works == "remove":
            removed = replace(client, works="unlock", is_active=False)
            yield f"{name}: LREM active", _with(state, number, removed)
        elif client.works == "unlock":
            lock = None if state.lock == (number, client.session) else state.lock
            free = replace(client, works="")
            yield f"{name}: unlocks", _with(replace(state, lock=lock), number, free)

    def _monitor(self, state: State, number: int, client: Client) -> Iterator[tuple[str, State]]:
        """A client that was not seen for long: dead, or merely slow."""
        others = any(one.alive for at, one in enumerate(state.clients) if at != number)
        if not (client.is_active or client.is_moving) or not others:
            return
        if client.alive and not state.pauses:
            return
        pauses = state.pauses - client.alive
        freed = replace(state, lock=None, pending=state.pending + 1, pauses=pauses)
        listed = (
            replace(client, is_active=False)
            if client.is_active
            else replace(client, is_moving=False)
        )
        yield f"monitor: c{number} is taken for dead", _with(freed, number, listed)

    def violations(self, state: State) -> set[str]:
        found = set(state.bad)
        at_work = [one.event for one in state.clients if one.alive and one.works == "call"]
        if len(at_work) > 1:
            found.add("TWO_AT_ONCE")
        seen: list[int] = []
        for event in state.effects:
            if event not in seen:
                if event > 1 and event - 1 not in seen:
                    found.add("ORDER")
                seen.append(event)
        return found

    def is_done(self, state: State) -> bool:
        at_work = any(one.alive and one.works in ("call", "pop") for one in state.clients)
        if state.added < self.events or state.queue or at_work:
            return False
        return self.at_most_once or set(state.effects) >= set(range(1, self.events + 1))


def _with(state: State, number: int, client: Client) -> State:
    clients = (*state.clients[:number], client, *state.clients[number + 1 :])
    return replace(state, clients=clients)
