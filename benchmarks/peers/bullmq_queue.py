"""bullmq for Python with eight jobs at a time: `python bullmq_queue.py URL EVENTS`."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any


async def main(url: str, events: int) -> None:
    from bullmq import Queue, Worker  # type: ignore[import-not-found, unused-ignore]

    queue = Queue("benchmark", {"connection": url})
    for number in range(events):
        await queue.add("work", {"number": number}, {"removeOnComplete": True})
    done, count = asyncio.Event(), 0

    async def work(job: Any, token: str) -> None:
        nonlocal count
        count += 1
        if count == events:
            done.set()

    began = time.perf_counter()
    worker = Worker("benchmark", work, {"connection": url, "concurrency": 8})
    await asyncio.wait_for(done.wait(), 600)
    print(events / (time.perf_counter() - began))
    await worker.close(force=True)
    await queue.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
