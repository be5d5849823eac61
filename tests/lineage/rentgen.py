"""Data.Rentgen, a real receiver: its own parser, extractor and database. Runs in its own Python.

`python rentgen.py DATABASE EVENTS` saves the run events of a file of JSON lines, and prints the
graph that the database holds then: edges between jobs and datasets, runs with how they ended, and
columns. Kafka, through which Data.Rentgen gets its messages, is left out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

from data_rentgen.consumer.extractors import BatchExtractor  # type: ignore[import-not-found]
from data_rentgen.consumer.saver import DatabaseSaver  # type: ignore[import-not-found]
from data_rentgen.consumer.subscribers import OpenLineageRunEventAdapter  # type: ignore[import-not-found]
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

EDGES = """
select job.name as job, run.id as run, run.status as status, location.type as type,
       location.name as location, dataset.name as dataset, :side as side
from {side} join run on run.id = {side}.run_id join job on job.id = run.job_id
join dataset on dataset.id = {side}.dataset_id join location on location.id = dataset.location_id
"""

COUNTS = """
select (select count(*) from run) as runs, (select count(*) from job) as jobs,
       (select count(*) from dataset) as datasets, (select count(*) from input) as inputs,
       (select count(*) from output) as outputs, (select count(*) from column_lineage) as columns
"""


async def main(database: str, events: Path) -> dict[str, Any]:
    engine = create_async_engine(database)
    async with AsyncSession(engine, expire_on_commit=False) as session:
        for line in events.read_bytes().splitlines():
            extractor = BatchExtractor()
            extractor.add_events([OpenLineageRunEventAdapter.validate_json(line)])
            await DatabaseSaver(session, logging.getLogger("rentgen")).save(extractor.result)
        edges = []
        for side in ("input", "output"):
            rows = await session.execute(text(EDGES.format(side=side)), {"side": side})
            edges += [dict(row._mapping) for row in rows]
        counts = dict((await session.execute(text(COUNTS))).one()._mapping)
    await engine.dispose()
    return {"edges": sorted(edges, key=str), "counts": counts}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], Path(sys.argv[2]))), default=str))
