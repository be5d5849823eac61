"""To a topic of Kafka, in order for each key, by librdkafka's idempotent producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from singerlake.errors import ConfigError
from singerlake.lineage.transport.base import Answer
from singerlake.lineage.transport.origin import key_of

if TYPE_CHECKING:
    from confluent_kafka import Producer

FLUSH_SECONDS = 30.0


class KafkaTransport:
    """A message never expires in the producer, for a later one would overtake it: what is not
    delivered in time is purged, and sent again by a new producer."""

    batch = 256
    lanes = 1

    def __init__(self, servers: str, topic: str, settings: Mapping[str, Any] | None = None) -> None:
        """Raises `ConfigError` where confluent-kafka is missing, or does not know a setting."""
        self.name = f"kafka://{servers}/{topic}"
        self._topic = topic
        self._settings = {
            "bootstrap.servers": servers,
            **(settings or {}),
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": 0,
            "log_level": 0,
        }
        self._producer: Producer | None = self._started()

    def _started(self) -> Producer:
        try:
            from confluent_kafka import KafkaException, Producer
        except ModuleNotFoundError as error:
            raise ConfigError(
                f'Kafka needs {error.name}, which is missing: pip install "singerlake[kafka]"'
            ) from error
        try:
            return Producer(self._settings)
        except KafkaException as error:
            raise ConfigError(f"Kafka refuses its settings: {error.args[0].str()}") from None

    def send(self, events: Sequence[bytes]) -> Answer:
        from confluent_kafka import KafkaError, KafkaException

        if self._producer is None:
            self._producer = self._started()
        failures: dict[int, KafkaError] = {}
        done: set[int] = set()

        def note(number: int) -> Any:
            def reported(error: KafkaError | None, message: object) -> None:
                if error is None:
                    done.add(number)
                else:
                    failures[number] = error

            return reported

        try:
            for number, event in enumerate(events):
                self._producer.produce(self._topic, event, key_of(event), on_delivery=note(number))
            self._producer.flush(FLUSH_SECONDS)
        except (KafkaException, BufferError) as problem:
            self.close()
            return Answer(0, f"Kafka: {type(problem).__name__}")
        delivered = next((n for n in range(len(events)) if n not in done), len(events))
        if delivered == len(events):
            return Answer(delivered)
        # Whatever else is on its way could overtake what is sent again.
        self.close()
        error = failures.get(delivered)
        if error is not None and error.code() in _too_large():
            return Answer(delivered, f"Kafka: {error.str()}", refused=True)
        return Answer(delivered, f"Kafka: {error.str() if error else 'no answer in time'}")

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(1.0)
            self._producer = None


def _too_large() -> tuple[int, ...]:
    from confluent_kafka import KafkaError

    return KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE
