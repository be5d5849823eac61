"""Scripts that `benchmarks.pairs` runs with old and with new code: they import nothing of ours but
what has not changed for long."""
