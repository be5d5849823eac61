"""What people see where Spark fails: one line, and an exit code that tells it from a finding."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkRuntimeError

from singerlake.cli import main
from singerlake.errors import ConfigError, CorruptFile, SingerlakeError, Unavailable
from singerlake.spark.failure import explained, starting
from singerlake.store import open_store
from tests.lake import landing

GONE = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
STOPPED = "An error occurred\n: java.lang.IllegalStateException: Cannot call methods on a stopped "
STOPPED += "SparkContext.\nThis stopped SparkContext was created at:"
REFUSED = (
    ": io.KubernetesClientException: oh\n\tat x.y(z)\nCaused by: java.net.ConnectException: no"
)
WRONG = (
    'Exception in thread "main" org.apache.spark.SparkException: Master must be yarn\n\tat x.y(z)'
)
HEAP = "Invalid maximum heap size: -Xmxabc\nError: Could not create the Java Virtual Machine."


def child(text: str, wait: float = 0) -> subprocess.Popen[bytes]:
    program = f"import sys, time; time.sleep({wait}); sys.stderr.write({text!r} + chr(10))"
    return subprocess.Popen([sys.executable, "-c", program])


def heard(text: str, capfd: pytest.CaptureFixture[str]) -> str:
    """All that came to stderr until the text did."""
    err, patience = "", time.monotonic() + 10
    while text not in err and time.monotonic() < patience:
        time.sleep(0.05)
        err += capfd.readouterr().err
    return err


@pytest.mark.parametrize(
    ("error", "java", "kind", "told"),
    [
        (PySparkRuntimeError(GONE), WRONG, ConfigError, "on foo: Master must be yarn. See to"),
        (PySparkRuntimeError(GONE), HEAP, ConfigError, "Invalid maximum heap size: -Xmxabc"),
        (Py4JError(STOPPED), "", Unavailable, "Spark's master foo does not answer"),
        (Py4JError(REFUSED), "", Unavailable, "Spark's master foo does not answer"),
    ],
)
def test_a_spark_that_does_not_start_is_one_line(
    error: Exception,
    java: str,
    kind: type[SingerlakeError],
    told: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def start() -> None:
        with starting("foo"):
            child(java).wait()
            raise error

    with pytest.raises(kind) as raised:
        start()
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr().err == ""


def test_what_java_says_later_is_heard(capfd: pytest.CaptureFixture[str]) -> None:
    with starting("foo"):
        child("a banner").wait()
        java = child("out of memory", wait=0.5)
    java.wait()
    assert heard("out of memory", capfd) == "out of memory\n"


def test_what_java_said_before_is_kept_back_however_late_it_is_read(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with starting("foo"):
        java = child("out of memory", wait=0.5)
        os.write(2, b"a banner\n" * 7000)  # nearly all that a pipe holds
    java.wait()
    assert heard("out of memory", capfd) == "out of memory\n"


def test_a_failed_job_is_told_from_a_finding() -> None:
    with pytest.raises(CorruptFile, match=r"^cut off$"), explained("s"):
        raise Py4JError("at x\nsinger: singerlake.errors.CorruptFile: cut off\nat y")
    with (
        pytest.raises(Unavailable, match=r"^s: the Spark job failed: OSError: full$"),
        explained("s"),
    ):
        raise Py4JError("Traceback\n  at x\nOSError: full\n")


DYING = """
import os, signal
from singerlake.errors import SingerlakeError
from singerlake.spark import session
from singerlake.spark.failure import explained
from singerlake.spark.watch import watched

spark = session(master="local[1]")
try:
    with explained("s"), watched(spark, "dying", lambda done, total: None):
        os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
        spark.sparkContext._gateway.proc.wait()
        spark.range(3).count()
except SingerlakeError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_java_that_is_killed_is_one_line() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", DYING], capture_output=True, text=True, check=False, timeout=110
    )
    assert ran.stdout.startswith("Unavailable s: Spark's Java process on this machine does not")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(("flags", "level"), [([], "OFF"), (["-v"], "ERROR")])
def test_the_commands_run_spark_silently(
    flags: list[str], level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.land(open_store(tmp_path), range(3))
    given: dict[str, Any] = {}

    def session(app: str, master: str | None, **conf: Any) -> None:
        given.update(conf)
        raise Py4JError(STOPPED)

    monkeypatch.setattr(sys.modules["singerlake.spark.session"], "session", session)
    run = CliRunner().invoke(main, [*flags, "verify", str(tmp_path), "--master", "spark://x:1"])
    assert given == {"spark.log.level": level}
    assert (run.exit_code, "spark://x:1 does not answer" in run.stderr) == (5, True)


@pytest.mark.slow
def test_a_wrong_master_is_one_line(tmp_path: Path) -> None:
    landing.land(open_store(tmp_path), range(3))
    command = [sys.executable, "-m", "singerlake.cli", "verify", str(tmp_path), "--master", "foo"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "foo" in ran.stderr
