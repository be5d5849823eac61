"""Posts, from the inbox: whoever waits later finds them too."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from singerlake.errors import SingerlakeError
from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import Awaited, HttpEvent, matches
from singerlake.wait.inbox import Inbox
from singerlake.wait.source.base import Answer, Question


class InboxSource:
    def __init__(self, inbox: Inbox, runtime: Runtime = REAL) -> None:
        self._inbox, self._runtime = inbox, runtime

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
        event: HttpEvent = question.event
        try:
            after = event.after or 0
            for post in self._inbox.find(event.post, question.span, after, event.since):
                if matches(post.body, event.match):
                    return Arrival(
                        time=post.time,
                        position={"inbox": post.number, "id": post.id},
                        text=f"post {post.id}",
                    )
        except SingerlakeError as error:
            return error
        return None
