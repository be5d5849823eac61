"""A standalone Spark cluster on this machine, from the pip-installed PySpark: to kill parts of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

from singerlake.spark import java_home
from tests.servers import _die_with_parent as die_with_parent
from tests.servers import free_ports

HOST = "127.0.0.1"
READY_WITHIN_SECONDS = 240
DRIVER = Path(__file__).with_name("driver.py")


@dataclass
class Cluster:
    """A master and its workers; each worker leads a process group with its executors."""

    url: str
    web: str
    environment: dict[str, str]
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self) -> None:
        """kill -9, as if the machine were gone: the worker, its executors and their Pythons."""
        kill(self.workers.pop())

    def start(self, job: str, **given: Any) -> subprocess.Popen[str]:
        """Run a job of `driver.py` in a process of its own."""
        return subprocess.Popen(
            [sys.executable, str(DRIVER), self.url, job, json.dumps(given)],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=(self.folder / f"driver-{time.monotonic_ns()}.log").open("wb"),
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def have_workers(self, count: int) -> None:
        """Start workers in the place of those that were killed."""
        while len(self.workers) < count:
            limits = ("--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0")
            work = ("--work-dir", str(self.folder / "work"))
            self.workers.append(_spark_class(self, "worker", *limits, *work, self.url))
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while self._alive() != count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no {count} workers in {READY_WITHIN_SECONDS} s")
            time.sleep(0.2)

    def _alive(self) -> int:
        try:
            with urllib.request.urlopen(self.web, timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            return 0


def result(process: subprocess.Popen[str], seconds: float = 600) -> dict[str, Any]:
    """What the job answered, when it has ended: `error` where it failed."""
    out, _ = process.communicate(timeout=seconds)
    return dict(json.loads(out.splitlines()[-1]))


def kill(process: subprocess.Popen[Any]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def run_cluster(folder: Path) -> Iterator[Cluster]:
    """A master; `have_workers` starts the workers."""
    port, web = free_ports(2)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    cluster = Cluster(f"spark://{HOST}:{port}", f"http://{HOST}:{web}/json/", environment, folder)
    ports = ("--port", str(port), "--webui-port", str(web))
    master = _spark_class(cluster, "master", "--host", HOST, *ports)
    try:
        yield cluster
    finally:
        for process in [*cluster.workers, master]:
            kill(process)


def _spark_class(cluster: Cluster, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    log = cluster.folder / f"{name}-{time.monotonic_ns()}.log"
    return subprocess.Popen(
        [str(program), f"org.apache.spark.deploy.{name}.{name.capitalize()}", *arguments],
        env=cluster.environment,
        cwd=cluster.folder,
        stdin=subprocess.DEVNULL,
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )


def wait_until(is_so: Any, process: subprocess.Popen[str], seconds: float = 300) -> None:
    """Wait for a moment in a job that runs; a job that ended before has missed it."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None, "the job ended before the moment came"
        assert time.monotonic() < deadline, "the moment did not come"
        time.sleep(0.02)
