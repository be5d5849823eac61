"""Kafka, by the mock broker that comes with confluent-kafka: no real broker is at hand."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest

from singerlake.errors import ConfigError
from singerlake.lineage.transport import kafka
from singerlake.lineage.transport.kafka import KafkaTransport
from tests.lineage.samples import numbered, sender_and_number

TOPIC = "lineage"


@pytest.fixture
def broker() -> Iterator[str]:
    """A mock cluster lives as long as the client that has it: its address is in that client's
    metadata."""
    holder = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock"})
    metadata = holder.list_topics(timeout=30)
    (one,) = metadata.brokers.values()
    yield f"{one.host}:{one.port}"
    holder.flush(1)


def consumed(broker: str, count: int) -> list[confluent_kafka.Message]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    try:
        topics = consumer.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions
        consumer.assign([confluent_kafka.TopicPartition(TOPIC, number, 0) for number in topics])
        found: list[confluent_kafka.Message] = []
        while len(found) < count:
            message = consumer.poll(30)
            assert message is not None, f"{len(found)} of {count} messages came"
            assert message.error() is None, message.error()
            found.append(message)
        return found
    finally:
        consumer.close()


@pytest.mark.slow
def test_events_arrive_in_order_for_each_key(broker: str) -> None:
    transport = KafkaTransport(broker, TOPIC)
    events = [numbered(sender, number) for number in range(40) for sender in range(3)]
    assert transport.send(events).delivered == len(events)
    transport.close()
    assert transport.send([numbered(0, 40)]).delivered == 1  # after a close it begins anew
    transport.close()
    messages = consumed(broker, len(events) + 1)
    assert messages[0].key() is not None
    by_sender: dict[int, list[int]] = {}
    for message in sorted(messages, key=lambda one: (one.partition(), one.offset())):
        sender, number = sender_and_number(message.value())
        by_sender.setdefault(sender, []).append(number)
    # The key is the job's: each event of a sender has another, so order is within a partition.
    assert {sender: sorted(numbers) for sender, numbers in by_sender.items()} == {
        0: list(range(41)),
        1: list(range(40)),
        2: list(range(40)),
    }


@pytest.mark.slow
def test_no_broker_is_no_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "FLUSH_SECONDS", 0.5)
    transport = KafkaTransport("127.0.0.1:1", TOPIC)
    answer = transport.send([numbered(0, 0)])
    assert (answer.delivered, answer.refused) == (0, False)
    assert "Kafka" in answer.reason
    transport.close()


def test_a_setting_that_librdkafka_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigError, match="Kafka"):
        KafkaTransport("127.0.0.1:1", TOPIC, {"no.such.setting": "1"})
