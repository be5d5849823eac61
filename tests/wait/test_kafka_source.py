"""Waits for messages, on librdkafka's mock cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from singerlake.errors import ConfigError, Unavailable
from singerlake.wait import Arrival, KafkaEvent, Sliding, Wait, Waiter, Window
from singerlake.wait.event import Awaited, parse
from singerlake.wait.source.base import Question
from singerlake.wait.source.kafka import KafkaSource
from tests.kafka import Kafka, kafka

NOW = datetime.now(timezone.utc)


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    with kafka() as running:
        yield running


def waiter(*events: Awaited) -> Waiter:
    return Waiter(Wait("w", events, NOW), {"kafka": KafkaSource(seconds=5.0)})


def event(broker: Kafka, topic: str, **more: object) -> KafkaEvent:
    config = {"bootstrap.servers": broker.bootstrap}
    return KafkaEvent(topic=topic, config=config, **more)  # type: ignore[arg-type]


def test_a_message_is_found_and_stays(broker: Kafka) -> None:
    broker.create("files", 2)
    broker.send("files", b'{"country": "DE"}', 1)
    waiting = waiter(event(broker, "files", match={"country": "FR"}))
    try:
        assert not waiting.look().is_done
        broker.send("files", b"no JSON")
        broker.send("files", b'{"country": "FR"}', 1)
        (standing,) = waiting.look().standings
        assert standing.arrival is not None
        assert standing.arrival.position == {"topic": "files", "partition": 1, "offset": 1}
    finally:
        waiting.close()
    later = waiter(event(broker, "files", match={"country": "FR"}, window=Window("Y")))
    try:
        assert later.look().is_done
    finally:
        later.close()


def test_without_a_window_what_was_there_does_not_count(broker: Kafka) -> None:
    broker.create("before")
    broker.send("before", b"{}")
    waiting = waiter(event(broker, "before"))
    try:
        assert not waiting.look().is_done
        broker.send("before", b"{}")
        assert waiting.look().is_done
    finally:
        waiting.close()


def test_a_message_belongs_to_the_window_of_its_own_time(broker: Kafka) -> None:
    broker.create("days")
    yesterday = int((NOW - timedelta(days=1)).timestamp() * 1000)
    broker.send("days", b"{}", time=yesterday)
    waiting = waiter(event(broker, "days", window=Window("D")))
    try:
        assert not waiting.look().is_done
        broker.send("days", b"{}", time=int(NOW.timestamp() * 1000))
        assert waiting.look().is_done
    finally:
        waiting.close()


def test_a_broker_that_is_away_is_an_error_of_its_event() -> None:
    away = KafkaEvent(topic="t", config={"bootstrap.servers": "127.0.0.1:1"}, window=Window("D"))
    waiting = Waiter(Wait("w", (away,), NOW), {"kafka": KafkaSource(seconds=0.5)})
    try:
        assert isinstance(waiting.look().standings[0].error, Unavailable)
    finally:
        waiting.close()


def test_bad_settings_are_named_and_secrets_are_not() -> None:
    odd = KafkaEvent(topic="t", config={"sasl.pasword": "s3cret"}, window=Window("D"))
    error = waiter(odd).look().standings[0].error
    assert isinstance(error, ConfigError)
    assert "sasl.pasword" in str(error)
    assert "s3cret" not in str(error)


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"])
def test_secrets_do_not_come_into_the_table(name: str, broker: Kafka, tmp_path: Path) -> None:
    described = {"type": "kafka", "topic": "t", "config": {name: "s3cret"}}
    for make in (
        lambda: KafkaEvent(topic="t", config={name: "s3cret"}),
        lambda: parse([described]),
    ):
        with pytest.raises(ConfigError, match="config_file") as caught:
            make()
        assert name in str(caught.value)
        assert "s3cret" not in str(caught.value)
    broker.create("secrets")
    broker.send("secrets", b"{}")
    file = tmp_path / "kafka.json"
    file.write_text(json.dumps({"sasl.password": "s3cret", "bootstrap.servers": broker.bootstrap}))
    # Of the year: this test may run at midnight.
    found = KafkaEvent(topic="secrets", config_file=str(file), window=Window("Y"))
    assert waiter(found).look().is_done


def test_a_message_of_the_same_millisecond_counts(broker: Kafka) -> None:
    """Messages have no microseconds, and what they are compared with has."""
    broker.create("millisecond")
    since = datetime(2026, 3, 3, 6, 0, 0, 114788, tzinfo=timezone.utc)
    waiting = waiter(event(broker, "millisecond", since=since))
    try:
        broker.send("millisecond", b"{}", time=int(since.timestamp() * 1000) - 1)
        assert not waiting.look().is_done
        broker.send("millisecond", b"{}", time=int(since.timestamp() * 1000))
        assert waiting.look().is_done
    finally:
        waiting.close()
    later = waiter(event(broker, "millisecond", since=since))
    try:
        assert later.look().is_done
    finally:
        later.close()


def test_a_message_of_a_clock_that_is_ahead_slides_into_the_window(broker: Kafka) -> None:
    broker.create("ahead")
    source = KafkaSource(seconds=5.0)
    one = event(broker, "ahead", window=Sliding(3600.0))
    broker.send("ahead", b"{}", time=int((NOW + timedelta(hours=1)).timestamp() * 1000))
    try:
        assert source.look([Question(one, one.span(NOW, NOW))]) == [None]
        later = NOW + timedelta(hours=1, seconds=1)
        (answer,) = source.look([Question(one, one.span(NOW, later))])
        assert isinstance(answer, Arrival)
    finally:
        source.close()


def test_a_kafka_that_is_away_costs_all_who_ask_one_time_out(
    capfd: pytest.CaptureFixture[str],
) -> None:
    config = {"bootstrap.servers": "127.0.0.1:1"}
    events = [KafkaEvent(topic=f"t{n % 3}", config=config, window=Window("D")) for n in range(30)]
    source = KafkaSource(seconds=0.5)
    began = time.monotonic()
    try:
        answers = source.look([Question(one, one.span(NOW, NOW)) for one in events])
    finally:
        source.close()
    assert all(isinstance(one, Unavailable) for one in answers)
    assert time.monotonic() - began < 5  # and not 15
    assert "FAIL" not in "".join(capfd.readouterr())  # librdkafka prints no line for each try
