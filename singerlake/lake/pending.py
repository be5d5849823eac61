"""What a writer has begun and not committed yet: files, and the registration of new streams."""

from __future__ import annotations

from concurrent.futures import Future

from singerlake.format.manifest import File

Work = Future[tuple[File, ...]] | Future[None]


class Pending:
    """Numbers work in the order in which it begins. Use from one thread.

    What was written before some moment is in the lake once all numbers up to `newest` of that
    moment are settled. A file that is still open then holds lines from before and after it.
    `files` and `bytes` count what was committed.
    """

    def __init__(self) -> None:
        self._last = self._settled = 0
        self.files = self.bytes = 0
        self._numbers: dict[int, None] = {}
        self._submitted: dict[int, Work] = {}

    @property
    def newest(self) -> int:
        """The number of what began last and is pending; 0 where nothing is."""
        return next(reversed(self._numbers), 0)

    @property
    def numbers(self) -> list[int]:
        """All that is pending, in ascending order."""
        return list(self._numbers)

    def begin(self) -> int:
        """A file that was opened, say: it stays pending until its commit succeeds."""
        self._last += 1
        self._numbers[self._last] = None
        return self._last

    def submit(self, number: int, work: Work) -> None:
        """The work that settles this number is under way."""
        self.settle()
        self._submitted[number] = work

    def settle(self) -> int:
        """Count and forget the work that has succeeded; returns how much that was so far.

        What failed stays pending for good.
        """
        for number in [each for each, work in self._submitted.items() if succeeded(work)]:
            del self._numbers[number]
            for file in self._submitted.pop(number).result() or ():
                self.files += 1
                self.bytes += file.bytes
            self._settled += 1
        return self._settled

    def require_success(self) -> None:
        """Raises what stopped any of the work that has ended."""
        for work in self._submitted.values():
            if work.done():
                work.result()


def succeeded(work: Work) -> bool:
    """Whether it has ended, and well."""
    return work.done() and not work.cancelled() and work.exception() is None
