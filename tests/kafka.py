"""A Kafka for tests: librdkafka's mock cluster, out of confluent-kafka's own wheel.

It speaks the protocol over TCP, for any process. It answers no `offsets_for_times`. No real broker
is to be had from a package.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import confluent_kafka


@cache
def _library() -> ctypes.CDLL:
    folder = Path(confluent_kafka.__file__).parents[1]
    (path,) = folder.glob("confluent_kafka*.libs/librdkafka-*.so*")
    library = ctypes.CDLL(str(path))
    for name, result, arguments in (
        ("rd_kafka_conf_new", ctypes.c_void_p, []),
        (
            "rd_kafka_new",
            ctypes.c_void_p,
            [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t],
        ),
        ("rd_kafka_destroy", None, [ctypes.c_void_p]),
        ("rd_kafka_mock_cluster_new", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]),
        ("rd_kafka_mock_cluster_destroy", None, [ctypes.c_void_p]),
        ("rd_kafka_mock_cluster_bootstraps", ctypes.c_char_p, [ctypes.c_void_p]),
        (
            "rd_kafka_mock_topic_create",
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
        ),
        ("rd_kafka_mock_broker_set_down", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_up", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int32]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@dataclass(frozen=True)
class Kafka:
    bootstrap: str
    cluster: int

    def create(self, topic: str, partitions: int = 1) -> None:
        _library().rd_kafka_mock_topic_create(self.cluster, topic.encode(), partitions, 1)

    def kill(self) -> None:
        """Connections are cut and refused; what was sent is kept."""
        assert _library().rd_kafka_mock_broker_set_down(self.cluster, 1) == 0

    def restart(self) -> None:
        assert _library().rd_kafka_mock_broker_set_up(self.cluster, 1) == 0

    def send(self, topic: str, value: bytes, partition: int = 0, time: int = 0) -> None:
        """`time` in milliseconds; now, if 0."""
        failures: list[Any] = []
        producer = confluent_kafka.Producer({"bootstrap.servers": self.bootstrap})
        producer.produce(
            topic,
            value,
            partition=partition,
            timestamp=time,
            on_delivery=lambda error, _: failures.append(error),
        )
        assert producer.flush(30) == 0
        assert failures == [None]


@contextmanager
def kafka() -> Iterator[Kafka]:
    library = _library()
    text = ctypes.create_string_buffer(512)
    client = library.rd_kafka_new(0, library.rd_kafka_conf_new(), text, len(text))
    assert client, text.value
    cluster = library.rd_kafka_mock_cluster_new(client, 1)
    try:
        yield Kafka(library.rd_kafka_mock_cluster_bootstraps(cluster).decode(), cluster)
    finally:
        library.rd_kafka_mock_cluster_destroy(cluster)
        library.rd_kafka_destroy(client)
