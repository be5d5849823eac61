"""Counters once, shown twice: as Prometheus text, and pushed to statsd.

metrics = Metrics.create()
landed = metrics.counter("index_rows", "Rows that the index took.", ("stream",))
landed.labels("orders").inc()
metrics.text()                                        # what GET /metrics answers
with statsd.pushing(metrics, statsd.parse("127.0.0.1:8125")):
    ...                                               # the same numbers, every ten seconds

prometheus-client (extra `http`) keeps the numbers; `Metrics.create` names the extra where the
package is missing.
"""

from singerlake.metrics.metrics import Metrics

__all__ = ["Metrics"]
