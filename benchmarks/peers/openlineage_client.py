"""`python openlineage_client.py URL TRANSPORT BYTES CLIENTS COUNT`: openlineage-python.

Sends to a backend; each client has a thread, and its share of COUNT. Prints JSON: seconds until
every `emit` returned, until everything was sent, of the processor, of each call, and memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import schema_dataset
from openlineage.client.transport.async_http import AsyncHttpConfig, AsyncHttpTransport
from openlineage.client.transport.http import HttpConfig, HttpTransport


def main(url: str, kind: str, size: int, clients: int, count: int) -> None:
    event, made = _event(size), [_client(url, kind) for _ in range(clients)]
    for client in made:
        client.emit(event)  # a first time, which does not count

    def emit(client: OpenLineageClient) -> list[float]:
        latencies = []
        for _ in range(count // clients):
            at = time.perf_counter()
            client.emit(event)
            latencies.append(time.perf_counter() - at)
        return latencies

    began, processor = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(clients) as pool:
        latencies = [one for each in pool.map(emit, made) for one in each]
        returned = time.perf_counter() - began
        list(pool.map(OpenLineageClient.close, made))
    found = {
        "returned": returned,
        "sent": time.perf_counter() - began,
        "processor": time.process_time() - processor,
        "latencies": latencies,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(found))


def _client(url: str, kind: str) -> OpenLineageClient:
    if kind == "http":
        transport = HttpTransport(HttpConfig.from_dict({"url": url}))
    else:
        transport = AsyncHttpTransport(AsyncHttpConfig.from_dict({"url": url}))
    return OpenLineageClient(transport=transport)


def _event(size: int) -> RunEvent:
    fields = [
        schema_dataset.SchemaDatasetFacetFields(f"column_{number}", "string", "a text")
        for number in range(max(1, (size - 600) // 70))
    ]
    facets = {"schema": schema_dataset.SchemaDatasetFacet(fields)}
    return RunEvent(
        eventType=RunState.COMPLETE,
        eventTime="2026-11-18T10:00:00.000Z",
        run=Run(str(uuid.UUID(int=7))),
        job=Job("benchmark", "load"),
        outputs=[OutputDataset("s3://lake", "orders", facets=facets)],
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
