"""Kafka, by the mock broker that comes with confluent-kafka: no real broker is at hand."""

from __future__ import annotations

import json
from collections.abc import Iterator

import confluent_kafka
import pytest

from singerlake.errors import ConfigError
from singerlake.lineage.transport import kafka
from singerlake.lineage.transport.kafka import KafkaTransport
from tests.lineage.samples import numbered, run_event

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


def of_job(job: int, number: int) -> bytes:
    return json.dumps(run_event(job={"namespace": "n", "name": f"{job}"}, number=number)).encode()


@pytest.mark.slow
def test_events_arrive_in_order_for_each_key(broker: str) -> None:
    transport = KafkaTransport(broker, TOPIC)
    events = [of_job(job, number) for number in range(40) for job in range(3)]
    assert transport.send(events).delivered == len(events)
    transport.close()
    assert transport.send([of_job(0, 40)]).delivered == 1  # after a close it begins anew
    transport.close()
    by_key: dict[bytes, list[int]] = {}
    for message in consumed(broker, len(events) + 1):  # in order for each partition
        key = message.key()
        assert isinstance(key, bytes)
        by_key.setdefault(key, []).append(json.loads(message.value())["number"])
    assert by_key == {
        b"run:n/0": list(range(41)),
        b"run:n/1": list(range(40)),
        b"run:n/2": list(range(40)),
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
