"""An aggregate over all columns of a stream, by Spark; prints the seconds of processor it took.

Those are counted here, because Java and its Python workers outlive the script, and because it
takes them seconds to get going: the first two aggregates are not counted.
"""

import sys

from pyspark.sql import functions as f

from benchmarks import processor
from singerlake.spark import read_stream, session

WARM_UP, ROUNDS = 2, 3


def main(root: str, tap: str, stream: str) -> None:
    spark = session("benchmarks", "local[2]")
    begun = 0.0
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            begun = processor.seconds() or 0.0
        frame = read_stream(spark, root, tap, stream)
        frame.agg(f.count("*"), f.sum("amount"), f.max("customer_id")).collect()
    print(((processor.seconds() or 0.0) - begun) / ROUNDS)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
