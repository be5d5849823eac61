"""Posts, from the inbox: whoever waits later finds them too."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from singerlake.errors import SingerlakeError
from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import Awaited, HttpEvent, matches
from singerlake.wait.inbox import Inbox
from singerlake.wait.source.base import Answer, Question

SETTLED = timedelta(minutes=1)
"""After so long no post appears behind others that have higher numbers: PostgreSQL gives a number
before it commits."""

MOST_QUESTIONS = 20_000
"""Of which it is known how far they were searched: the others begin anew."""


class InboxSource:
    """Keeps for each question how far it has searched: posts that do not match are read once."""

    def __init__(self, inbox: Inbox, runtime: Runtime = REAL) -> None:
        self._inbox, self._runtime = inbox, runtime
        self._searched: OrderedDict[str, int] = OrderedDict()

    def anchored(self, event: HttpEvent) -> Awaited:
        if event.window or event.since or event.after is not None:
            return event
        try:
            # The receiver's clock may be behind ours.
            return msgspec.structs.replace(event, after=self._inbox.last_number())
        except SingerlakeError:
            return msgspec.structs.replace(event, since=self._runtime.now())

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._answer(one) for one in questions]

    def close(self) -> None:
        """The database is its owner's to close."""

    def _answer(self, question: Question) -> Answer:
        try:
            return self._find(question)
        except SingerlakeError as error:
            return error

    def _find(self, question: Question) -> Arrival | None:
        event: HttpEvent = question.event
        key = f"{question.span.name} {msgspec.json.encode(event).decode()}"
        reached = max(event.after or 0, self._searched.get(key, 0))
        settled, is_settled = self._runtime.now() - SETTLED, True
        found = None
        for post in self._inbox.find(event.post, question.span, reached, event.since):
            if matches(post.body, event.match):
                place = {"inbox": post.number, "id": post.id}
                found = Arrival(time=post.time, position=place, text=f"post {post.id}")
                break
            is_settled = is_settled and post.received <= settled
            if is_settled:
                reached = post.number
        # A window that slides comes to posts whose time was still ahead.
        if event.frequency != "sliding":
            self._searched[key] = reached
            self._searched.move_to_end(key)
            if len(self._searched) > MOST_QUESTIONS:
                self._searched.popitem(last=False)
        return found
