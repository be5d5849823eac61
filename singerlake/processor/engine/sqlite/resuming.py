"""Keys that go on: after a pause, and with a dead letter at their head again."""

from __future__ import annotations

from singerlake.processor.engine.sqlite.key import Key, Step
from singerlake.processor.engine.sqlite.turn import us
from singerlake.processor.engine.values import Item, paused_by, pauses


def go_on(step: Step, row: Key) -> None:
    """The key waits for nobody any more, unless another dead letter holds it."""
    is_held, reason = pauses(row.paused)
    if is_held:
        left = step.database.execute("SELECT 1 FROM dead WHERE key = ?", (row.key,)).fetchone()
        row.paused = paused_by(left is not None, reason)
    if not row.paused and row.line == "|":
        row.line = ""
    step.make_ready(row)
    step.save(row)


def to_head(step: Step, row: Key, position: int, expires: int, item: Item) -> None:
    """Positions of a queue grow: an event that goes back to the head gets a new one, with all
    behind it, unless nothing was acknowledged since."""
    row.last = row.last or step.floor()  # the key may have been forgotten meanwhile
    if position > row.acknowledged > 0:
        step.insert(row.key, position, expires, item)
        row.opener = max(row.opener, position if item.start else 0)
        return
    waiting = step.entries(row.key, -1)
    step.delete(row.key, row.last)
    row.singly = 0
    behind = [(us(e.expires), Item(e.value, e.id, e.source, e.start)) for e in waiting]
    for until, one in [(expires, item), *behind]:
        row.last = max(row.last + 1, step.now)
        if one.start:
            row.opener = row.last
        step.insert(row.key, row.last, until, one)
