"""arq with one process of eight jobs at a time: `python arq_queue.py URL EVENTS`."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any


async def main(url: str, events: int) -> None:
    from arq.connections import (  # type: ignore[import-not-found, unused-ignore]
        RedisSettings,
        create_pool,
    )
    from arq.worker import Worker, func  # type: ignore[import-not-found, unused-ignore]

    settings = RedisSettings.from_dsn(url)
    pool = await create_pool(settings)
    for number in range(events):
        await pool.enqueue_job("work", number)

    async def work(context: dict[str, Any], number: int) -> None:
        return None

    worker = Worker(
        [func(work, name="work", keep_result=0)],
        redis_settings=settings,
        burst=True,
        max_jobs=8,
        poll_delay=0.01,
        handle_signals=False,
    )
    began = time.perf_counter()
    await worker.main()
    print(events / (time.perf_counter() - began))
    await worker.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
