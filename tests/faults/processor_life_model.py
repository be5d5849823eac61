"""The model of the protocol with what a key lives through beside its events: sessions that end,
stickiness, scheduled events, cancels, pauses by hand, dead letters that hold, and redrives.

Events are numbered by whoever adds them. The same scripts, the same faults; sinks by (token,
position), so a redriven event counts once more only where it never had an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.faults.processor_model import KEY, Bounds, P, ProcessorModel, State, Worker, _field


@dataclass(frozen=True)
class LifeBounds(Bounds):
    """`scheduled` events come by the timer, the rest at once. `cancels`, `pauses` and `redrives`
    are how often somebody may do so. `closed`: the last event opens no session by itself.
    `sessions`: a job may say that the session of the key is complete."""

    scheduled: int = 0
    cancels: int = 0
    pauses: int = 0
    redrives: int = 0
    sticky: int = 0
    idle: int = 0
    hold: bool = False
    sessions: bool = False
    closed: bool = False


@dataclass(frozen=True)
class Life(State):
    cancels: int = 0
    pauses: int = 0
    redrives: int = 0
    is_paused: bool = False
    """Whether somebody has paused the key, and not resumed it."""

    request: int = 0
    asked: tuple[str, ...] = ()
    """A person's request whose answer was lost: sent again until it comes."""

    is_complete: bool = False
    """Whether a job has said that the session is complete, and no event has opened another."""

    cancelled: bool = False
    skipped: bool = False


class LifeModel(ProcessorModel):
    bounds: LifeBounds

    def begin(self) -> Life:
        common = super().begin()
        bounds = self.bounds
        return Life(
            **vars(common),
            cancels=bounds.cancels,
            pauses=bounds.pauses,
            redrives=bounds.redrives,
        )

    def steps(self, state: Life) -> Iterator[tuple[str, State]]:  # type: ignore[override]
        yield from super().steps(state)
        yield from self._people(state)

    # The producer: its first events are scheduled

    def _add(self, state: Life) -> Iterator[tuple[str, State]]:  # type: ignore[override]
        bounds = self.bounds
        if state.added == bounds.events:
            return
        opens = "-" if bounds.closed and state.added == bounds.events - 1 else "S"
        value = f"{opens}||\nj{state.added}"
        self._server.thaw(state.server)
        if state.added < bounds.scheduled:
            self._server.run("schedule", P, KEY, f"e{state.added}", "delay", 1000, 0, value)
            label = "the producer schedules"
        else:
            self._server.run("add", P, KEY, "producer", state.added + 1, "", 0, 99, value)
            label = "the producer adds"
        after = replace(state, server=self._server.freeze())
        after = replace(after, all_positions=self._positions(after))
        yield label, replace(after, added=state.added + 1, unanswered=False)
        if state.cuts and not state.unanswered:
            cut = replace(after, cuts=state.cuts - 1, unanswered=True)
            yield f"{label}, and gets no answer", cut

    def _positions(self, state: State) -> tuple[int, ...]:
        return tuple(sorted({*state.all_positions, *self._queue()}))

    # People

    def _people(self, state: Life) -> Iterator[tuple[str, State]]:
        if state.asked:
            yield from self._request(state, state.asked)
            return
        if state.cancels and state.added >= 1 and self.bounds.scheduled:
            yield from self._request(replace(state, cancels=state.cancels - 1), ("cancel", "e0"))
        if state.pauses and not state.is_paused:
            paused = replace(state, pauses=state.pauses - 1)
            yield from self._request(paused, ("pause", "by hand"))
        if state.is_paused:
            yield from self._request(state, ("resume",))
        letters = sorted(self._dead(state))
        if letters and state.redrives:
            less = replace(state, redrives=state.redrives - 1)
            yield from self._request(less, ("redrive", str(letters[0])))
        elif letters and self.bounds.hold:
            yield from self._request(state, ("drop", str(letters[0])))

    def _request(self, state: Life, asked: tuple[str, ...]) -> Iterator[tuple[str, State]]:
        """A request of somebody, who sends it again where its answer was lost."""
        number = state.request if state.asked else state.request + 1
        self._server.thaw(state.server)
        if asked[0] == "cancel":
            found = self._server.run("cancel", P, asked[1], "person", number)
        else:
            extra = asked[1] if len(asked) > 1 else ""
            found = self._server.run("manage", P, asked[0], KEY, "person", number, extra)
        server, bad = self._server.freeze(), set(state.bad)
        if found == "leased":
            return
        if found == 0 and state.asked and asked[0] != "cancel":
            bad.add("DONE_BUT_DENIED")
        changes = {
            "cancel": {"cancelled": state.cancelled or found == 1},
            "pause": {"is_paused": True},
            "resume": {"is_paused": False},
            "drop": {"skipped": True},
        }.get(asked[0], {})
        after = replace(
            state, server=server, request=number, asked=(), bad=frozenset(bad), **changes
        )
        after = replace(after, all_positions=self._renumbered(state, after, asked[0]))
        yield f"somebody asks for {' '.join(asked)}: {found}", after
        if state.cuts:
            yield (
                f"somebody asks for {' '.join(asked)}, and gets no answer",
                replace(after, cuts=state.cuts - 1, asked=asked),
            )

    def _renumbered(self, before: Life, after: Life, action: str) -> tuple[int, ...]:
        """A redrive gives new positions to the head and all behind it."""
        if action != "redrive":
            return after.all_positions
        return tuple(sorted({*before.order, *self._queue()}))

    # Workers

    def _callback(self, state: State, number: int, worker: Worker) -> Iterator[tuple[str, State]]:
        yield from super()._callback(state, number, worker)
        if self.bounds.sessions and worker.done == len(worker.positions) and worker.done:
            report = replace(worker, at="reporting", what="end")
            workers = (*state.workers[:number], report, *state.workers[number + 1 :])
            yield f"w{number}: the session is complete", replace(state, workers=workers)

    def _args(self, number: int, worker: Worker, again: bool) -> list[object]:
        args = super()._args(number, worker, again)
        bounds = self.bounds
        args[3], args[4] = bounds.sticky, bounds.idle
        args[7] = "hold" if bounds.hold else "skip"
        if bounds.sticky:
            args[10] = f"{args[10]}o"
            args[-1] = bounds.sticky
        return args

    def _turn(
        self, state: State, number: int, worker: Worker, again: bool
    ) -> Iterator[tuple[str, State]]:
        """Scheduled events get their positions in turns; nothing is handed out of a paused key."""
        for label, after in super()._turn(state, number, worker, again):
            self._server.thaw(after.server)
            after = replace(after, all_positions=self._positions(after))
            got = after.workers[number]
            # What was handed out before the pause, and not heard of, is handed out again.
            is_new = got.at == "working" and got.token != _field(state, "t")
            if isinstance(state, Life) and state.is_paused and not state.asked and is_new:
                after = replace(after, bad=after.bad | {"HANDED_OUT_WHILE_PAUSED"})
            if self.bounds.sessions:
                after = self._session(state, worker, after, got)
            yield label, after

    def _session(self, before: State, worker: Worker, after: State, got: Worker) -> State:
        """An event that opens no session is not handed out once the session is complete."""
        assert isinstance(after, Life)
        settled = bool(worker.token) and _field(before, "t") == worker.token
        over = after.is_complete or (worker.what == "end" and settled)
        bad = set(after.bad)
        if got.at == "working":
            queue = dict(after.server).get(f"{P}q:{KEY}", ())
            opening = {int(one.split("|")[0]): one.split("|")[2] for one in queue}
            if over and opening.get(got.positions[0]) == "-":
                bad.add("NOT_STARTED")
            over = over and "S" not in [opening.get(one) for one in got.positions]
        return replace(after, is_complete=over, bad=frozenset(bad))

    # Promises

    def violations(self, state: Life) -> set[str]:  # type: ignore[override]
        found = super().violations(state)
        if self.bounds.redrives:
            found.discard("ADDED_TWICE")  # positions are given anew; values are looked at here
            values = [one.partition("\n")[2] for one in dict(state.server).get(f"{P}q:{KEY}", ())]
            if len(set(values)) != len(values):
                found.add("ADDED_TWICE")
        if state.cancelled and "j0" in state.effects:
            found.add("CANCELLED_BUT_DONE")
        if len(set(state.effects)) != len(state.effects):
            found.add("EFFECT_TWICE")
        if self._held_is_passed(state):
            found.add("DEAD_LETTER_PASSED")
        return found

    def _held_is_passed(self, state: Life) -> bool:
        """A dead letter that holds its key: nothing behind it is handed out."""
        if not self.bounds.hold or state.skipped:
            return False
        letters = self._dead(state)
        held = min(letters, default=0)
        return bool(letters) and any(one > held for one in state.order)

    def is_done(self, state: Life) -> bool:  # type: ignore[override]
        if state.is_paused or state.asked:
            return False
        data = dict(state.server)
        if state.added < self.bounds.events or _field(state, "t") or f"{P}scheduled" in data:
            return False
        if any(one.at not in ("idle", "dead") for one in state.workers):
            return False
        queue = [one.partition("\n")[2] for one in data.get(f"{P}q:{KEY}", ())]
        waits = self.bounds.closed and [one.split("|")[2] for one in data.get(f"{P}q:{KEY}", ())]
        if queue and waits != ["-"] * len(queue):
            return False
        if state.skipped:
            return True
        letters = {letter.partition("\n")[2] for _, letter in data.get(f"{P}dead", ())}
        known = {*state.effects} | letters | {*queue} | ({"j0"} if state.cancelled else set())
        return len(known) == self.bounds.events
