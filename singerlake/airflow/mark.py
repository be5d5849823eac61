"""`MarkEventOperator`: a task that says that something has arrived."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseHook, BaseOperator

from singerlake.airflow import table
from singerlake.airflow.waiting.outcome import POST_ID, moment, post_header
from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.client import Client
from singerlake.wait.status.name import fitting

RUN_AFTER = "{{ dag_run.run_after.isoformat() }}"


class MarkEventOperator(BaseOperator):
    """Marks an event as arrived, for those who wait for `HttpEvent` or `KafkaEvent`.

    A retry is recognised by its `post_id`, which is that of the task by default, or of the one of
    them that Airflow mapped.

    :param event: the event's name. (templated)
    :param body: a JSON object, for those who match its content. (templated)
    :param post_id: what makes a repeat a repeat. (templated)
    :param time: the event's own time, when the run was due by default. (templated)
    :param http_conn_id: post to the receiver at this connection's host; its password is the token.
    :param kafka_topic: send to this topic instead; `kafka_config` is the client's.
        (templated)

    Without either, the event goes into the database of waits.
    """

    template_fields: Sequence[str] = ("event", "body", "post_id", "time", "kafka_topic")

    def __init__(
        self,
        *,
        event: str,
        body: Mapping[str, Any] | None = None,
        post_id: str = POST_ID,
        time: str = RUN_AFTER,
        http_conn_id: str = "",
        kafka_topic: str = "",
        kafka_config: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if http_conn_id and kafka_topic:
            raise ConfigError("expected http_conn_id or kafka_topic, found both: give only one")
        self.event, self.body, self.post_id, self.time = event, dict(body or {}), post_id, time
        self.http_conn_id, self.kafka_topic = http_conn_id, kafka_topic
        self.kafka_config = dict(kafka_config or {})

    def execute(self, context: Any) -> str:
        if self.http_conn_id:
            return self._post()
        if self.kafka_topic:
            return self._send()
        when = moment(self.time, "time")
        is_new = table.inbox().take(self.event, self.body, fitting(self.post_id), when)
        return "received" if is_new else "repeat"

    def _message(self) -> bytes:
        known = {"event": self.event, "id": fitting(self.post_id), "time": self.time}
        return json.dumps({**known, **self.body}).encode()

    def _post(self) -> str:
        connection = BaseHook.get_connection(self.http_conn_id)
        host = str(connection.host or "")
        address = host if "://" in host else f"{connection.schema or 'http'}://{host}"
        if connection.port:
            address = f"{address}:{connection.port}"
        known = post_header(fitting(self.post_id))
        headers = {"Content-Type": "application/json", "Idempotency-Key": known}
        if connection.password:
            headers["Authorization"] = f"Bearer {connection.password}"
        url = f"{address.rstrip('/')}/events/{quote(self.event, safe='')}"
        answer = Client().post(url, self._message(), headers)
        if answer.status not in (200, 201):
            raise NoAnswer(
                f"expected the receiver at {self.http_conn_id!r} to take the event, found status "
                f"{answer.status}: {answer.body[:200]!r}"
            )
        return "received" if answer.status == 201 else "repeat"

    def _send(self) -> str:
        from confluent_kafka import Producer

        failures: list[Any] = []
        producer = Producer({**self.kafka_config, "enable.idempotence": True})
        producer.produce(
            self.kafka_topic,
            self._message(),
            key=self.event.encode(),
            timestamp=int(moment(self.time, "time").timestamp() * 1000),
            on_delivery=lambda error, message: failures.append(error) if error else None,
        )
        left = producer.flush(60)
        if left or failures:
            raise NoAnswer(f"topic {self.kafka_topic!r}: Kafka did not take the event")
        return "received"
