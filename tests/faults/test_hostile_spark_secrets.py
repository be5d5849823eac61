"""A secret in the storage options of Spark jobs is in nothing that they write or pickle.

Executors get it in their environment. This looks at every pickle that a process of Spark's makes,
at its event log, its plans, its logs, a query's checkpoint, and its folders while the session
lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.faults.hostile_secrets import SAMPLE, SECRET, SUITE, TAP, Run, leaks, objects, options
from tests.faults.result import Line
from tests.servers import S3Server

THIS = "tests/faults/test_hostile_spark_secrets.py"

SCRIPT = """
import json, sys
from pathlib import Path
from singerlake.cli import main
from singerlake.spark import lend, read_stream, session
from tests.faults.hostile_secrets import TAP, leaks

root, folder = sys.argv[1], Path.cwd()
options, conf = (json.loads(Path(name).read_text()) for name in sys.argv[2:])
# One session for all of them, which is there when the folders are searched.
spark = session("secrets", "local[1]", **conf)
for words in (
    ("verify", root),
    ("project", root, root + "-tables", "--tap", TAP, "--stream", "orders"),
    ("vacuum", root, "--tap", TAP, "--apply"),
):
    more = ("--storage-options", "@" + sys.argv[2], "--conf=spark.log.level=INFO")
    assert not main(["-v", *words, *more], standalone_mode=False), words
orders = read_stream(spark, root, TAP, "orders", storage_options=options)
orders.explain("extended")
orders.groupBy("id").count().show()  # with a shuffle, which goes through files
lent = lend(spark, {**options, "config_kwargs": {"user_agent_extra": "an-agent"}})
given = f"path '{root}', tap '{TAP}', stream 'orders', storage_options '{lent}'"
spark.sql(f"create temporary view seen using singerlake options ({given})")
print("rows", spark.sql("select count(*) from seen").first()[0] == orders.count())
given = {"tap": TAP, "stream": "orders", "storage_options": lend(spark, options)}
arrivals = spark.readStream.format("singerlake").options(**given).load(root)
query = (
    arrivals.writeStream.format("json")
    .option("path", str(folder / "out"))
    .option("checkpointLocation", str(folder / "checkpoint"))
    .trigger(availableNow=True)
    .start()
)
assert query.awaitTermination(60)
query.explain(True)
print(query.lastProgress)
copies = {**given, "stream": "copies", "key_properties": "id"}
orders.write.format("singerlake").mode("append").options(**copies).save(root)
try:
    read_stream(spark, root, TAP, "none", storage_options=options)
except Exception as error:
    print(error)
files = [path for path in folder.rglob("*") if path.is_file()]
print("searched", len(files) > 10)
for path in files:
    if leaks(path.read_bytes()):
        print("found in", path)
spark.stop()
"""


HOOK = """
import os, pickle
from pathlib import Path
from uuid import uuid4
from pyspark import cloudpickle

def kept(dumps):
    def keep(*args, **named):
        data = dumps(*args, **named)
        Path(os.environ["PICKLES"], f"{os.getpid()}-{uuid4().hex}").write_bytes(data)
        return data
    return keep

pickle.dumps, cloudpickle.dumps = kept(pickle.dumps), kept(cloudpickle.dumps)
"""


class Watch(threading.Thread):
    """Searches a folder over and over, for files that are gone when a process ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.searched: set[tuple[str, int]] = set()
        self._folder, self._done = folder, threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.2):
            # Unlike rglob, walk does not mind folders that are gone since they were listed.
            for folder, _, names in os.walk(self._folder):
                for path in (Path(folder, name) for name in names):
                    with contextlib.suppress(OSError):  # gone, too
                        self._search(path)

    def _search(self, path: Path) -> None:
        seen = (str(path), path.stat().st_size)
        if seen not in self.searched and path.is_file() and leaks(path.read_bytes()):
            self.found.add(str(path))
        self.searched.add(seen)

    def end(self) -> None:
        self._done.set()
        self.join()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_secret_in_storage_options_is_in_nothing_that_spark_jobs_write(
    moto_server: S3Server, tmp_path: Path
) -> None:
    row = Line(SUITE, "planted in the storage options of Spark jobs", THIS)
    bucket = moto_server.new_bucket()
    root = f"s3://{bucket}/lake"
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    folder = tmp_path / "run"
    run = Run(folder, {"PYTHONPATH": str(Path(__file__).parents[2])})
    for name in ("events", "local", "pickles"):
        (run.folder / name).mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (run.folder / "events").as_uri(),
        "spark.local.dir": str(run.folder / "local"),
        "spark.log.level": "INFO",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # it starts sooner
        "spark.sql.shuffle.partitions": "1",
    }
    given = options(moto_server)
    body = {"lake_root": root, "tap_id": TAP, "storage_options": given}
    for name, content in (("config", body), ("options", given), ("conf", conf)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    for _ in range(2):  # so that there is something to merge
        config = ("--config", str(tmp_path / "config.json"))
        assert run("target_singerlake", *config, given=SAMPLE.read_bytes()) == 0, run.printed
    run.env["PYTHONPATH"] += f":{tmp_path / 'hook'}"
    run.env["PICKLES"] = str(folder / "pickles")
    watch = Watch(run.folder)
    watch.start()
    try:
        files = (str(tmp_path / "options.json"), str(tmp_path / "conf.json"))
        assert run.command([sys.executable, "-c", SCRIPT], root, *files) == 0, run.printed
    finally:
        watch.end()
    assert watch.found == set()
    told = list(run.printed.values())[-1]
    assert b"searched True" in told
    assert b"rows True" in told
    pickled = {path.name.partition("-")[0] for path in (folder / "pickles").iterdir()}
    assert len(pickled) > 3, "the driver, what plans, and what reads"
    assert b"found in" not in told
    log = b"".join(data for where, data in run.written() if "/events/" in where)
    assert b"SparkListenerSQLExecutionStart" in log
    assert b"SparkListenerTaskEnd" in log
    assert b"CreateTempViewUsing" in log
    assert b"an-agent" not in log, "nothing of the options, be it a secret or not"
    for where, data in (*run.written(), *objects(moto_server, bucket)):
        row.runs += 1
        assert leaks(data) == [], where
        assert leaks(where.encode()) == [], where
    assert row.runs > 30
    row.faults = 1
    row.keep()


def test_control_a_file_that_is_gone_at_the_end_is_seen(tmp_path: Path) -> None:
    row = Line(SUITE, "control: a secret in a file of a moment", f"{THIS} -k control", runs=1)
    watch = Watch(tmp_path)
    watch.start()
    try:
        path = tmp_path / "task"
        path.write_bytes(pickle.dumps({"secret": SECRET}))
        deadline = time.monotonic() + 30
        while not watch.found and time.monotonic() < deadline:
            time.sleep(0.01)
        path.unlink()
    finally:
        watch.end()
    row.control(watch.found == {str(path)})
