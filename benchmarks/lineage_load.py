"""Load for the lineage proxy: clients that each send the next event when the last is answered."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

TICKS = os.sysconf("SC_CLK_TCK")


def event(size: int) -> bytes:
    """A valid run event of about so many bytes: a dataset with as many columns as it takes."""
    facet = {
        "_producer": "https://example.com/benchmark",
        "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/SchemaDatasetFacet.json",
    }
    fields: list[dict[str, str]] = []
    made = {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-18T10:00:00.000Z",
        "producer": "https://example.com/benchmark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.UUID(int=7))},
        "job": {"namespace": "benchmark", "name": "load"},
        "outputs": [
            {
                "namespace": "s3://lake",
                "name": "orders",
                "facets": {"schema": facet | {"fields": fields}},
            }
        ],
    }
    while len(json.dumps(made)) < size:
        fields.append({"name": f"column_{len(fields)}", "type": "string", "description": "a text"})
    return json.dumps(made).encode()


@dataclass(frozen=True)
class Measured:
    """Seconds of each answer, of all, and of the proxy's processor."""

    latencies: list[float]
    seconds: float
    processor: float
    memory: int

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def microseconds(self) -> float:
        return self.processor / len(self.latencies) * 1e6

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def measure(url: str, pid: int, body: bytes, clients: int, events: int) -> Measured:
    head = (
        f"POST /api/v1/lineage HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return _measured(url, pid, head.encode() + body, clients, events)


def round_trips(url: str, pid: int, count: int) -> Measured:
    """Requests of one client for which nothing is done."""
    head = f"HEAD /healthz HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n\r\n"
    return _measured(url, pid, head.encode(), 1, count)


def _measured(url: str, pid: int, request: bytes, clients: int, count: int) -> Measured:
    before, began = processor_seconds(pid), time.perf_counter()
    latencies = asyncio.run(_send(url, request, clients, count))
    seconds = time.perf_counter() - began
    return Measured(latencies, seconds, processor_seconds(pid) - before, memory_bytes(pid))


async def _send(url: str, request: bytes, clients: int, count: int) -> list[float]:
    address = urlsplit(url)
    latencies: list[float] = []
    left = iter(range(count))

    async def client() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for _ in left:
            began = time.perf_counter()
            writer.write(request)
            status = (await reader.readuntil(b"\r\n\r\n"))[9:12]
            latencies.append(time.perf_counter() - began)
            assert status == b"200", status
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return latencies


def processor_seconds(pid: int) -> float:
    """Of all threads of a process, in the program and in the system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def synced_appends(folder: Path, body: bytes, group: int, groups: int) -> list[float]:
    """The physical limit: the same bytes at the end of a file, and a sync for each group."""
    latencies = []
    descriptor = os.open(folder / "limit", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for _ in range(groups):
            began = time.perf_counter()
            os.write(descriptor, body * group)
            os.fdatasync(descriptor)
            latencies.append(time.perf_counter() - began)
    finally:
        os.close(descriptor)
        (folder / "limit").unlink()
    return latencies
