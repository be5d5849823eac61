"""The requests of docs/operations/costs.md are those that are sent."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from singerlake import check, open_lake
from singerlake.format.keys import StreamKeys
from singerlake.lake import vacuum
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions
from singerlake.projection.document import Settings
from singerlake.spark import lend
from singerlake.spark.project import project
from singerlake.store import s3_requests
from target_singerlake.target import TargetSingerlake
from tests.faults.proxy import proxied
from tests.servers import S3Server
from tests.tap.replay import replay
from tests.target.driving import listen

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "costs.md"
TAP = "tap-shop--sample"
KINDS = {
    "put_object": "PUT",
    "get_object": "GET",
    "list_objects_v2": "LIST",
    "delete_object": "DELETE",
}


def row(work: str, **numbers: int) -> dict[str, int]:
    """What the page says about some work, with its letters as these numbers."""
    text = PAGE.read_text(encoding="utf-8").partition("<!-- example: requests -->")[2]
    (cells,) = re.findall(rf"^\| {re.escape(work)} \|(.*)\|$", text, re.M)
    found = {}
    for kind, cell in zip(KINDS.values(), cells.split("|"), strict=True):
        # `4 + 3n` is the only form there is.
        terms = [re.fullmatch(r"(\d*)([nf]?)", term.strip()) for term in cell.split("+")]
        found[kind] = sum(int(t[1] or 1) * (numbers[t[2]] if t[2] else 1) for t in terms if t)
        assert all(terms), cell
    return found


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counts: Counter[str] = Counter()
    call = s3_requests.S3Requests._call

    def counting(self: Any, method: str, where: str, **given: Any) -> Any:
        counts[KINDS[method]] += 1
        return call(self, method, where, **given)

    monkeypatch.setattr(s3_requests.S3Requests, "_call", counting)
    return counts


@pytest.fixture
def config(moto_server: S3Server) -> dict[str, Any]:
    root = f"s3://{moto_server.new_bucket()}/lake"
    return {"lake_root": root, "storage_options": moto_server.storage_options()}


def take(sent: Counter[str]) -> dict[str, int]:
    counts = {kind: sent[kind] for kind in KINDS.values()}
    sent.clear()
    return counts


def land(config: dict[str, Any], streams: int) -> None:
    lines: list[dict[str, Any]] = []
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    for number in range(streams):
        name = f"stream-{number}"
        lines.append({"type": "SCHEMA", "stream": name, "schema": schema, "key_properties": ["id"]})
        lines.append({"type": "RECORD", "stream": name, "record": {"id": 1}})
    lines.append({"type": "STATE", "value": {}})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    listen(TargetSingerlake(config={**config, "tap_id": TAP}), io.BytesIO(text.encode()))


@pytest.mark.parametrize("n", [1, 3])
def test_runs_of_the_plugins(config: dict[str, Any], sent: Counter[str], n: int) -> None:
    land(config, n)
    assert take(sent) == row("the same, where lake and streams are new", n=n)
    land(config, n)
    assert take(sent) == row("a run of the target, one commit of each stream", n=n)
    state = replay(config).state
    assert take(sent) == row("a run of the tap with f new files in all", n=n, f=2 * n)
    land(config, n)
    sent.clear()
    replay(config, state)
    assert take(sent) == row("a run of the tap with f new files in all", n=n, f=n)


def test_work_on_a_stream(config: dict[str, Any], sent: Counter[str]) -> None:
    def lake() -> Any:  # as a new process has it
        opened = open_lake(config["lake_root"], **config["storage_options"])
        sent.clear()
        return opened

    f = 5
    with open_lake(config["lake_root"], create=True, **config["storage_options"]).writer(TAP) as w:
        for number in range(f):
            sent.clear()
            w.write(
                b'{"type":"SCHEMA","stream":"orders","schema":{"type":"object","properties":{}}}'
            )
            w.write(b'{"type":"RECORD","stream":"orders","record":{"id":%d}}' % number)
            w.commit()
        assert take(sent) == row("one commit of a stream, in a run that goes on")
    snapshot = lake().stream(TAP, "orders").snapshot()
    assert take(sent) == row("a snapshot of a stream")
    assert len(list(snapshot.records())) == f
    assert take(sent) == row("reading the files of a snapshot", f=f)
    assert check(lake().store).clean
    assert take(sent) == row("check of a tap of one stream", f=f)
    keys = StreamKeys(TAP, "orders")
    vacuum.vacuum(lake().store, keys, VacuumOptions())
    assert take(sent) == row("vacuum of a stream, f files into one", f=f)
    purge(lake().store, keys, timedelta(0))
    assert take(sent) == row("purge of a stream after that", f=f)


@pytest.mark.slow
def test_jobs_of_spark(config: dict[str, Any], moto_server: S3Server, spark: SparkSession) -> None:
    """Its tasks are other processes: what they send is counted on the way."""
    counts: Counter[str] = Counter()

    def count(method: str, path: str) -> None:
        counts["LIST" if "list-type=2" in path else method] += 1

    with proxied(moto_server) as proxy:
        root, options = config["lake_root"], proxy.server.storage_options()
        proxy.plan = count

        def write(tasks: int) -> dict[str, int]:
            counts.clear()
            writer = spark.range(10, numPartitions=tasks).write.format("singerlake").mode("append")
            lent = lend(spark, options)
            writer = writer.options(tap=TAP, stream="orders", storage_options=lent)
            writer.save(root)
            return take(counts)

        def publish() -> dict[str, int]:
            counts.clear()
            settings, out = Settings(format="parquet", mode="append"), root + "-tables"
            given = {"storage_options": options, "out_options": options}
            assert project(spark, root, out, TAP, "orders", settings, **given).files == 1
            return take(counts)

        write(1)  # the stream is new, which costs more
        for f in (1, 3):
            assert write(f) == row("a write by Spark, f tasks with a file each", f=f)
        assert publish() == row("a run of a projection, f new files into one", f=5)
        write(2)
        assert publish() == row("a run of a projection, f new files into one", f=2)
