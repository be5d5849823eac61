"""The process that Spark forks its Python workers from, with our modules loaded.

Spark starts one on each machine (`spark.python.daemon.module`), and forks a worker from it for each
task that runs at once. Its own loads nothing before the fork, so every worker loads PySpark, Arrow,
NumPy, pandas and this package anew: 0.3 seconds of processor before its first row.

Spark's own waits because these libraries start threads when they are loaded. The threads are those
of jemalloc and OpenBLAS, which both begin anew in a forked process.
"""

from __future__ import annotations

import os

import numpy
import pandas  # type: ignore[import-untyped]
import pyarrow.compute
import pyspark.worker
from pyspark.daemon import manager

from singerlake.spark import files, source

LOADED = (numpy, pandas, pyarrow.compute, pyspark.worker, files, source)
"""What workers find loaded."""

if __name__ == "__main__":
    # Python's random numbers begin anew in a forked process; NumPy's would be the same in all.
    os.register_at_fork(after_in_child=numpy.random.seed)
    manager()
