"""Messages of Kafka topics, read by offset: nothing is consumed, and no group has an offset."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from singerlake.errors import ConfigError, SingerlakeError, Unavailable
from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import ALWAYS, Awaited, KafkaEvent, matches
from singerlake.wait.source.base import Answer, Question

SECONDS = 10.0
"""How long a broker may take for one answer."""

QUIET = {"log_level": 2}
"""What fails is an answer. librdkafka would print each try to reach a broker that is away, too: a
thousand lines in minutes."""

MOST_QUESTIONS = 20_000
"""Of which it is known how far they were read: the others begin anew."""


class KafkaSource:
    """Keeps a consumer for each configuration, and for each question how far it has read.

    For any thread: share it among the waits of a process.
    """

    def __init__(self, runtime: Runtime = REAL, seconds: float = SECONDS) -> None:
        self._runtime, self._seconds = runtime, seconds
        self._consumers: dict[str, Consumer] = {}
        self._read: OrderedDict[str, dict[int, int]] = OrderedDict()
        self._asked: dict[tuple[str, str], dict[int, tuple[int, int]] | Unavailable] = {}
        self._lock = threading.Lock()

    def anchored(self, event: KafkaEvent) -> Awaited:
        if event.window or event.since or event.after:
            return event
        try:
            with self._lock:
                self._asked.clear()
                ends = {number: end for number, (_, end) in self._ends(event).items()}
        except SingerlakeError:
            return msgspec.structs.replace(event, since=self._runtime.now())
        return msgspec.structs.replace(
            event, after={str(number): end for number, end in ends.items()}
        )

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        with self._lock:
            self._asked.clear()
            answers = [self._answer(one) for one in questions]
            while len(self._read) > MOST_QUESTIONS:
                self._read.popitem(last=False)
        return answers

    def close(self) -> None:
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _answer(self, question: Question) -> Answer:
        try:
            return self._find(question)
        except SingerlakeError as error:
            return error
        except KafkaException as error:
            return _unavailable(question.event, error)

    def _find(self, question: Question) -> Arrival | None:
        """The first message that matches, partition by partition."""
        event: KafkaEvent = question.event
        ends = self._ends(event)
        places = self._read.setdefault(_key(question), {})
        self._read.move_to_end(_key(question))
        fresh = [number for number in ends if number not in places]
        places.update(self._starts(question, {number: ends[number] for number in fresh}))
        for number, (low, end) in ends.items():
            is_early = False
            for message in self._messages(event, number, max(places[number], low), end):
                arrival = _arrival(event, message)
                is_wanted = _is_since(arrival, event) and question.span.holds(arrival.time)
                if is_wanted and matches(_body(message), event.match):
                    return arrival
                # By a clock that is ahead of ours: it comes into a window that slides.
                is_early |= event.frequency == "sliding" and arrival.time >= question.span.end
                if not is_early:
                    places[number] = int(message.offset() or 0) + 1
        return None

    def _messages(self, event: KafkaEvent, number: int, start: int, end: int) -> Iterator[Message]:
        if start >= end:
            return
        consumer = self._consumer(event)
        consumer.assign([TopicPartition(event.topic, number, start)])
        try:
            while start < end:
                message = consumer.poll(self._seconds)
                if message is None:
                    raise Unavailable(
                        f"topic {event.topic!r}, partition {number}: expected messages up to "
                        f"offset {end}, found none after {start} in {self._seconds} seconds"
                    )
                failure = message.error()
                if failure is not None and failure.code() == KafkaError._PARTITION_EOF:
                    return  # what is left are offsets without messages: compacted, or aborted
                if failure is not None:
                    raise KafkaException(failure)
                start = int(message.offset() or 0) + 1
                yield message
        finally:
            consumer.unassign()

    def _starts(self, question: Question, ends: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Where to begin: at the event's own place, or at the first message of its time."""
        event: KafkaEvent = question.event
        if event.after is not None:
            # A partition that was added later is read from its beginning.
            return {number: event.after.get(str(number), 0) for number in ends}
        start = _floor(max(filter(None, (event.since, question.span.start))))
        if start == ALWAYS.start or not ends:
            return dict.fromkeys(ends, 0)
        ms = int(start.timestamp() * 1000)
        wanted = [TopicPartition(event.topic, number, ms) for number in ends]
        try:
            found = self._consumer(event).offsets_for_times(wanted, self._seconds)
        except KafkaException:
            return dict.fromkeys(ends, 0)  # an old broker has no times: its messages have
        return {
            one.partition: one.offset
            if one.offset >= 0
            else self._checked_end(event, one.partition, ends[one.partition], start)
            for one in found
        }

    def _checked_end(
        self, event: KafkaEvent, number: int, ends: tuple[int, int], start: datetime
    ) -> int:
        """The end, where a broker says that no message is so young, unless its last message is:
        some answer so whatever they are asked."""
        low, end = ends
        last = next(self._messages(event, number, max(low, end - 1), end), None)
        return low if last is not None and _arrival(event, last).time >= start else end

    def _ends(self, event: KafkaEvent) -> dict[int, tuple[int, int]]:
        """The offsets of each partition: the first, and that after the last. A topic is asked once
        for all who look together, and a Kafka that is away costs them one time-out."""
        key, consumer = _config_key(event), self._consumer(event)
        for known in (self._asked.get((key, "")), self._asked.get((key, event.topic))):
            if isinstance(known, Unavailable):
                raise known
            if known is not None:
                return known
        place = (key, "")
        try:
            topic = consumer.list_topics(event.topic, timeout=self._seconds).topics[event.topic]
            place = (key, event.topic)
            if topic.error is not None:
                raise KafkaException(topic.error)
            ends = {
                number: consumer.get_watermark_offsets(
                    TopicPartition(event.topic, number), timeout=self._seconds
                )
                for number in sorted(topic.partitions)
            }
        except KafkaException as error:
            self._asked[place] = _unavailable(event, error)
            raise _unavailable(event, error) from None
        self._asked[place] = ends
        return ends

    def _consumer(self, event: KafkaEvent) -> Consumer:
        config, key = _config(event), _config_key(event)
        if key not in self._consumers:
            own = {
                "group.id": f"singerlake-wait-{self._runtime.new_id()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "allow.auto.create.topics": False,
            }
            try:
                self._consumers[key] = Consumer({**QUIET, **config, **own})
            except KafkaException as error:
                raise ConfigError(
                    f"topic {event.topic!r}: expected settings of librdkafka, found others "
                    f"({error.args[0].str()})"
                ) from None
        return self._consumers[key]


def _key(question: Question) -> str:
    return f"{question.span.name} {msgspec.json.encode(question.event).decode()}"


def _config_key(event: KafkaEvent) -> str:
    return json.dumps(_config(event), sort_keys=True)


def _config(event: KafkaEvent) -> dict[str, Any]:
    if not event.config_file:
        return dict(event.config)
    try:
        return {**json.loads(Path(event.config_file).read_text("utf-8")), **event.config}
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"{event.config_file}: expected a JSON object of librdkafka's settings, found a file "
            f"that cannot be read ({type(error).__name__})"
        ) from None


def _arrival(event: KafkaEvent, message: Message) -> Arrival:
    _, ms = message.timestamp()
    return Arrival(
        time=datetime.fromtimestamp(max(ms, 0) / 1000, timezone.utc),
        position={
            "topic": event.topic,
            "partition": message.partition(),
            "offset": message.offset(),
        },
        text=f"partition {message.partition()}, offset {message.offset()}",
    )


def _is_since(arrival: Arrival, event: KafkaEvent) -> bool:
    return event.since is None or arrival.time >= _floor(event.since)


def _floor(moment: datetime) -> datetime:
    """Messages have times of whole milliseconds: one that came in the same counts."""
    return moment - timedelta(microseconds=moment.microsecond % 1000)


def _body(message: Message) -> Any:
    """The message's JSON; an empty object for what is none, which only an empty `match` matches."""
    value = message.value()
    try:
        return json.loads(value) if isinstance(value, (bytes, str)) else {}
    except (ValueError, RecursionError):
        return {}


def _unavailable(event: KafkaEvent, error: KafkaException) -> Unavailable:
    return Unavailable(f"topic {event.topic!r}: Kafka does not answer ({error.args[0].str()})")
