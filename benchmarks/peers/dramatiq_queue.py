"""dramatiq with one process of eight threads: `python dramatiq_queue.py URL EVENTS`."""

from __future__ import annotations

import sys
import threading
import time


def main(url: str, events: int) -> None:
    import dramatiq  # type: ignore[import-not-found, unused-ignore]
    from dramatiq.brokers.redis import RedisBroker  # type: ignore[import-not-found, unused-ignore]

    broker = RedisBroker(url=url, middleware=[])
    dramatiq.set_broker(broker)
    done, count, lock = threading.Event(), [0], threading.Lock()

    @dramatiq.actor  # type: ignore[untyped-decorator, unused-ignore]
    def work(number: int) -> None:
        with lock:
            count[0] += 1
            if count[0] == events:
                done.set()

    for number in range(events):
        work.send(number)
    worker = dramatiq.Worker(broker, worker_threads=8, worker_timeout=100)
    began = time.perf_counter()
    worker.start()
    done.wait(600)
    seconds = time.perf_counter() - began
    worker.stop()
    print(events / seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
