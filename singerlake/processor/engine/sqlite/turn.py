"""One turn of a slot: the same steps as in redis/lua/turn.lua."""

from __future__ import annotations

from dataclasses import replace

from singerlake.processor.engine.sqlite.key import HOUR, Key, Step
from singerlake.processor.engine.values import (
    Entry,
    Grant,
    Item,
    Outcome,
    Slot,
    Terms,
    paused_by,
    pauses,
)

SWEPT = 64
"""Timers that one turn runs."""


def us(seconds: float) -> int:
    return round(seconds * 1_000_000)


class TurnStep(Step):
    slot: Slot
    terms: Terms
    expired = 0

    def settle(self, outcome: Outcome) -> tuple[bool, Grant | None]:
        """Whether the lease was lost, and more events of the same key."""
        row = self.load(outcome.key)
        if not row.token or row.token != outcome.token:
            return True, None
        if outcome.done and not self.terms.at_most_once and row.acknowledged != outcome.position:
            entries = self.entries(row.key, outcome.done)
            if len(entries) < outcome.done or entries[-1].position != outcome.position:
                return True, None
            self.delete(row.key, outcome.position)
            row.advance(outcome.position)
            if outcome.what in ("fail", "dead"):
                row.deliveries = 1  # the next one was tried once, too
        if outcome.state is not None:
            row.state = outcome.state
        usual = self.terms
        if outcome.sticky is not None:
            self.terms = replace(usual, sticky=outcome.sticky)
        grant = self._apply(row, outcome)
        self.terms = usual
        return False, grant

    def _apply(self, row: Key, outcome: Outcome) -> Grant | None:
        if outcome.what == "fail":
            row.error = outcome.error
            row.singly = row.handed if outcome.singly else row.singly
            self._park(row, us(outcome.delay))
        elif outcome.what in ("later", "again"):
            row.deliveries = max(row.deliveries - 1, 0) if outcome.what == "later" else 0
            self._park(row, us(outcome.delay))
        elif outcome.what == "dead":
            self.bury(row, outcome.error)
            self._hold(row)
            self._release(row)
        elif outcome.what == "more" and not row.paused:
            return self._hand_or_release(row)
        else:
            self._release(row, completed=outcome.what == "end")
        return None

    def take(self) -> Grant | None:
        """The next key of the lines that this slot may take from."""
        lines = [self.slot.client, "*"] if self.terms.has_own_line else ["*"]
        first = "line = ? AND line != '' ORDER BY turn LIMIT 1"
        while found := [row for line in lines for row in self.where(first, line)]:
            # In their turn: a busy line of its own starves no other key.
            grant = self._take(min(found, key=lambda row: row.turn))
            if grant is not None:
                return grant
        return None

    def _take(self, row: Key) -> Grant | None:
        self.database.execute("INSERT OR REPLACE INTO turns VALUES ('', ?)", (row.turn,))
        self.stop_waiting(row)
        if row.deliveries >= self.terms.max_deliveries:  # it took its processors down with it
            self.bury(row, f"{row.deliveries} deliveries ended without an outcome")
            self._hold(row)
            self.make_ready(row)
            self.save(row)
            return None
        row.token = row.last_token = max((row.last_token or self.floor()) + 1, self.now)
        row.slot, row.since = self.slot.name, self.now
        row.lease = self.now + us(self.terms.lease)
        return self._hand_or_release(row)

    def _hand_or_release(self, row: Key) -> Grant | None:
        grant = self._hand(row)
        if grant is None:
            self._release(row)
        else:
            self.save(row)
        return grant

    def _hand(self, row: Key) -> Grant | None:
        entries = self._fresh(row)
        if not entries or row.is_closed():
            return None
        starts, row.session = row.session != self.slot.client, self.slot.client
        row.handed = entries[-1].position
        position, _, progress = row.progress.partition(b"|")
        if position != b"%d" % entries[0].position:
            row.progress = progress = b""
        grant = Grant(
            row.key,
            row.token,
            starts,
            row.deliveries + 1,
            tuple(entries),
            row.state,
            progress,
        )
        if self.terms.at_most_once:
            self.delete(row.key, row.handed)
            row.advance(row.handed)
        else:
            row.deliveries += 1
        return grant

    def _fresh(self, row: Key) -> list[Entry]:
        """The next events to hand out; those that expired before them are dropped."""
        while True:
            found = self.entries(row.key, 1 if self.terms.at_most_once else self.terms.batch)
            fresh: list[Entry] = []
            for entry in found:
                if 0 < us(entry.expires) <= self.now:
                    if fresh:
                        break
                    self.delete(row.key, entry.position)
                    row.advance(entry.position)
                    self.expired += 1
                    continue
                is_single = bool(row.singly) and entry.position <= row.singly
                if is_single and fresh:
                    break
                fresh.append(entry)
                if is_single:
                    break
            if fresh or not found:
                return fresh

    def _release(self, row: Key, completed: bool = False) -> None:
        """ "Nothing left" and "let go" are one step: what was added meanwhile makes it ready."""
        row.let_go()
        if completed or not (self.terms.idle_timeout or self.length(row.key, 1)):
            row.session = ""
        row.client, row.sticky = "", 0
        if self.terms.sticky and not completed:
            row.client, row.sticky = self.slot.client, self.now + us(self.terms.sticky)
        self.make_ready(row)
        if row.session and not row.line:
            row.timer = self.now + us(self.terms.idle_timeout)
        elif row.client and not row.line:
            row.timer = row.sticky
        self.save(row)

    def _park(self, row: Key, delay: int) -> None:
        row.let_go()
        if self.terms.sticky:
            row.client, row.sticky = self.slot.client, self.now + delay + us(self.terms.sticky)
        if row.paused:
            row.line = "|"
        elif delay <= 0:
            self.make_ready(row)
        else:
            row.line, row.timer = "!", self.now + delay
            self.has_news = True  # the one who parks it may be busy when the back-off ends
        self.save(row)

    def _hold(self, row: Key) -> None:
        if self.terms.on_dead == "hold":
            row.paused = paused_by(True, pauses(row.paused)[1])

    # Timers

    def sweep(self) -> None:
        due = f"<= ? LIMIT {SWEPT}"
        for row in self.where(f"token != 0 AND lease {due}", self.now):
            self._expire_lease(row)
        for row in self.where(f"timer != 0 AND timer {due}", self.now):
            self._ring(row)
        asked = (
            "SELECT id, key, ttl, start, value FROM scheduled WHERE due <= ? ORDER BY due LIMIT 64"
        )
        for id, key, ttl, start, value in self.database.execute(asked, (self.now,)).fetchall():
            self.database.execute("DELETE FROM scheduled WHERE id = ?", (id,))
            self.remember(id)
            row = self.load(key)
            self.append(row, [Item(value, id, "", bool(start))], ttl)
            self.save(row)
        gone = "SELECT client FROM clients WHERE until <= ?"
        for (client,) in self.database.execute(gone, (self.now,)).fetchall():
            self.database.execute("DELETE FROM clients WHERE client = ?", (client,))
            for row in self.where("line = ?", client):
                self._free(row)

    def _expire_lease(self, row: Key) -> None:
        if row.deliveries and row.handed:
            row.singly = row.handed
        row.let_go()
        row.client, row.sticky, row.session = "", 0, ""
        if row.opener <= row.acknowledged:
            row.opener = row.acknowledged + 1  # its session goes on elsewhere
        self.make_ready(row)
        self.save(row)

    def _ring(self, row: Key) -> None:
        row.timer = 0
        if row.line == "!":
            row.line = ""
        elif row.line and row.line == row.client:
            self._free(row)
            return
        elif not row.line and not row.token:
            row.session = ""
            if row.sticky > self.now:
                row.timer = row.sticky  # it is forgotten after it
            else:
                row.client, row.sticky = "", 0
        self.make_ready(row)
        self.save(row)

    def _free(self, row: Key) -> None:
        """The key no longer waits for one processor alone."""
        self.stop_waiting(row)
        row.client, row.sticky = "", 0
        self.make_ready(row)
        self.save(row)

    def remember(self, id: str) -> None:
        self.database.execute("DELETE FROM ids WHERE until <= ?", (self.now,))
        self.database.execute("INSERT OR REPLACE INTO ids VALUES (?, ?)", (id, self.now + HOUR))

    def next_timer(self) -> int | None:
        asked = (
            "SELECT min(at) FROM (SELECT min(lease) at FROM keys WHERE token != 0 UNION ALL "
            "SELECT min(timer) FROM keys WHERE timer != 0 UNION ALL SELECT min(due) FROM scheduled "
            "UNION ALL SELECT min(until) FROM clients)"
        )
        found = self.database.execute(asked).fetchone()[0]
        return None if found is None else int(found)
