"""dlt's filesystem destination, fed with the records of Singer messages on standard input.

Runs where dlt is installed: `python dlt_filesystem.py <folder>`. Its files are jsonl.gz, its
default. Records go to it in pages of a thousand, and nested values are kept as they are, both of
which make it faster.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def pages() -> Iterator[list[dict[str, Any]]]:
    records = (
        message["record"] for message in map(json.loads, sys.stdin) if message["type"] == "RECORD"
    )
    while page := list(itertools.islice(records, 1000)):
        yield page


def main(folder: str) -> None:
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    os.environ["DLT_DATA_DIR"] = str(Path(folder, "work"))
    import dlt  # type: ignore[import-not-found, unused-ignore]

    destination = dlt.destinations.filesystem(Path(folder, "lake").as_uri())
    pipeline = dlt.pipeline(
        "landing", destination=destination, dataset_name="raw", pipelines_dir=f"{folder}/pipelines"
    )
    pipeline.run(dlt.resource(pages, name="orders", max_table_nesting=0))


if __name__ == "__main__":
    main(sys.argv[1])
