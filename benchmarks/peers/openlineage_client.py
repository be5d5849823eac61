"""`python openlineage_client.py URL TRANSPORT BYTES COUNT`: openlineage-python, to a backend.

Prints JSON: seconds until every `emit` returned, until everything was sent, of the processor, of
each call, and memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import uuid

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import schema_dataset
from openlineage.client.transport.async_http import AsyncHttpConfig, AsyncHttpTransport
from openlineage.client.transport.http import HttpConfig, HttpTransport


def main(url: str, kind: str, size: int, count: int) -> None:
    if kind == "http":
        transport = HttpTransport(HttpConfig.from_dict({"url": url}))
    else:
        transport = AsyncHttpTransport(AsyncHttpConfig.from_dict({"url": url}))
    client = OpenLineageClient(transport=transport)
    fields = [
        schema_dataset.SchemaDatasetFacetFields(f"column_{number}", "string", "a text")
        for number in range(max(1, (size - 600) // 70))
    ]
    facets = {"schema": schema_dataset.SchemaDatasetFacet(fields)}
    event = RunEvent(
        eventType=RunState.COMPLETE,
        eventTime="2026-11-18T10:00:00.000Z",
        run=Run(str(uuid.UUID(int=7))),
        job=Job("benchmark", "load"),
        outputs=[OutputDataset("s3://lake", "orders", facets=facets)],
    )
    client.emit(event)
    latencies = []
    began, processor = time.perf_counter(), time.process_time()
    for _ in range(count):
        at = time.perf_counter()
        client.emit(event)
        latencies.append(time.perf_counter() - at)
    returned = time.perf_counter() - began
    client.close()
    found = {
        "returned": returned,
        "sent": time.perf_counter() - began,
        "processor": time.process_time() - processor,
        "latencies": latencies,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
