"""Events and facets, written for these tests."""

from __future__ import annotations

import json
import uuid
from typing import Any

PRODUCER = "https://example.com/producer/1.0"
RUN_ID = "0199aa7f-5b1c-7000-8000-000000000001"
SPEC = "https://openlineage.io/spec"

Event = dict[str, Any]


def facet(name: str, version: str, /, **fields: Any) -> Event:
    """A standard facet: its address says name and version."""
    address = f"{SPEC}/facets/{version}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": address, **fields}


def base(kind: str) -> Event:
    return {
        "eventTime": "2026-11-18T10:00:00.123Z",
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/{kind}",
    }


def run_event(**changes: Any) -> Event:
    return {
        **base("RunEvent"),
        "eventType": "COMPLETE",
        "run": {"runId": RUN_ID, "facets": {}},
        "job": {"namespace": "shop", "name": "load.orders", "facets": {}},
        "inputs": [{"namespace": "postgres://db:5432", "name": "shop.orders", "facets": {}}],
        "outputs": [{"namespace": "s3://lake", "name": "raw/orders", "facets": {}}],
        **changes,
    }


def job_event(**changes: Any) -> Event:
    return {**base("JobEvent"), "job": {"namespace": "shop", "name": "load.orders"}, **changes}


def dataset_event(**changes: Any) -> Event:
    return {**base("DatasetEvent"), "dataset": {"namespace": "s3://lake", "name": "o"}, **changes}


def numbered(sender: int, number: int, size: int = 0) -> bytes:
    """An event that says who sent it, and as which of his; a sender has one run."""
    run = {"runId": str(uuid.UUID(int=sender + 1))}
    job = {"namespace": f"sender-{sender}", "name": f"{number}"}
    padding = {"padding": "x" * size} if size else {}
    return json.dumps(run_event(run=run, job=job, inputs=[], outputs=[], **padding)).encode()


def sender_and_number(event: bytes) -> tuple[int, int]:
    job = json.loads(event)["job"]
    return int(job["namespace"].removeprefix("sender-")), int(job["name"])
