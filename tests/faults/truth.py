"""What was promised, and whether the lake keeps it: in memory, beside the lake."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format.keys import StreamKeys
from singerlake.lake import Snapshot, log
from singerlake.store import MemoryStore
from tests.faults.life import START
from tests.lake.landing import KEYS


class Violation(AssertionError):
    """A promise that was broken: the first word says which."""

    @property
    def kind(self) -> str:
        return str(self).split()[0].rstrip(":")


class Shelf(MemoryStore):
    """A memory store that shows which version lies under each key, without a request.

    Its clock is an hour behind that of the processes, and only tells what came first.
    """

    _puts = itertools.count()
    shift = timedelta(0)
    """How far somebody has set its clock, not those of the machines."""

    def versions(self) -> dict[str, str]:
        return {key: stored.version for key, (stored, _) in self._objects.items()}

    def clear(self) -> None:
        self._objects.clear()

    def fill(self, other: Shelf) -> None:
        """Hold what the other holds, and nothing else."""
        self.clear()
        self._objects.update(other._objects)

    def move(self) -> None:
        """A copy takes its place, made in the order of the keys, with times of its own."""
        objects = sorted(self._objects.items())
        self.clear()
        for key, (stored, _) in objects:
            self._put(key, stored.data)

    def _put(self, key: str, data: bytes) -> str:
        version = super()._put(key, data)
        moment = START + self.shift - timedelta(hours=1) + timedelta(microseconds=next(self._puts))
        self._objects[key] = self._objects[key][0], moment
        return version


@dataclass
class Truth:
    """The records that were sent and acknowledged, by number.

    `sent` counts how often a record was handed to a writer: more than once only where its
    STATE had not come out. So a record may be visible as often as it was sent, and no more.
    """

    sent: Counter[int] = field(default_factory=Counter)
    acknowledged: set[int] = field(default_factory=set)
    keys: StreamKeys = KEYS
    published: int = 0
    """The sequence up to which a projection told that it published."""

    def copy(self) -> Truth:
        return replace(self, sent=self.sent.copy(), acknowledged=set(self.acknowledged))

    def send(self, numbers: Iterable[int]) -> None:
        self.sent.update(numbers)

    def acknowledge(self, numbers: Iterable[int]) -> None:
        self.acknowledged.update(numbers)

    def require(self, there: Iterable[int]) -> int:
        """Raises `Violation`; returns how many records are there twice because of a replay."""
        count = Counter(there)
        if lost := self.acknowledged - count.keys():
            raise Violation(f"LOST {sorted(lost)}: acknowledged, and not in the lake")
        if twice := {number for number in count if count[number] > self.sent[number]}:
            raise Violation(f"TWICE {sorted(twice)}: more often than they were sent")
        return sum(times - 1 for times in count.values())


_numbers: dict[str, tuple[int, ...]] = {}


def visible(store: Shelf, keys: StreamKeys = KEYS) -> list[int]:
    """The numbers of all records in commit order, where everything that is named is there, whole.

    Raises `Violation`. It makes no request that a schedule sees.
    """
    versions = store.versions()
    try:
        manifest = log.read_head(store, keys).manifest
        files = list(log.files(store, keys, manifest))
    except NotFound:
        return []
    except CorruptDocument as error:
        raise Violation(f"TORN {error}") from error
    there: list[int] = []
    for file in files:
        key = keys.under(file.path)
        version = versions.get(key, "nothing")
        if file.checksum != f"sha256:{version}":
            raise Violation(f"TORN {key}: expected {file.checksum}, found {version}")
        if version not in _numbers:
            records = Snapshot(store, keys, manifest).lines(file)
            _numbers[version] = tuple(_number(line) for line in records if b'"RECORD"' in line)
        there += _numbers[version]
        if file.merge is not None and keys.under(file.merge.path) not in versions:
            raise Violation(f"TORN {file.merge.path}: named, and not there")
    sequences = [each for file in files for each in (file.lowest_sequence, file.sequence)]
    if sequences != sorted(sequences) or len({file.path for file in files}) < len(files):
        raise Violation(f"TWICE {[file.path for file in files]}: named again, or out of order")
    return there


def _number(line: bytes) -> int:
    return int(line.partition(b'"id": ')[2].partition(b"}")[0])
