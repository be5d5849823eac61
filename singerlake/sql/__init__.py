"""A lake in SQL, by DuckDB: a view for each stream and for each projection, without Spark.

import singerlake.sql

lake = singerlake.sql.connect("s3://bucket/lake")
lake.sql('select status, count(*) from "tap-x--meltano".orders group by all').show()
"""

from singerlake.sql.lake import Result, connect, query
from singerlake.sql.misfit import Misfit

__all__ = ["Misfit", "Result", "connect", "query"]
