"""The orders of the demo as a DataFrame: `python sample/demo_spark.py LAKE`."""

import sys

from singerlake.spark import read_current, session

spark = session()
orders = read_current(spark, sys.argv[1], "tap-shop--sample", "orders")
orders.orderBy("id").show(5)
orders.groupBy("currency").agg({"total": "sum", "id": "count"}).show()
spark.stop()
