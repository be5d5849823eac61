"""Credentials for Spark's Python workers, in their environment: no plan or pickle holds them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake.errors import ConfigError
from singerlake.spark.source import register
from singerlake.store import sealed
from singerlake.store.secrets import silence_debug

_lending = threading.Lock()


def lend(spark: SparkSession, storage_options: Mapping[str, Any]) -> str:
    """The text for the option `storage_options` of the source, with no secret in it.

    What stands in `storage_options` word for word is handed to the Python workers of the queries
    that are made from now on. Over Spark Connect nothing can be handed: raises `ConfigError`
    unless each secret is a reference to a variable that the other side has.
    """
    found = sealed.literal_secrets(storage_options)
    try:
        text = json.dumps(sealed.seal(storage_options))
    except TypeError as error:
        raise ConfigError(f"storage_options holds what JSON cannot: {error}") from None
    if not share(spark) and found:
        raise ConfigError(
            f"storage_options holds {', '.join(found)} word for word, and Spark Connect cannot "
            'hand secrets to the workers: write {"from_env": "NAME"} in the place of each, and '
            "set these variables there"
        )
    register(spark)
    return text


def share(spark: SparkSession) -> bool:
    """Let the workers use the stores that this process has opened; False over Spark Connect."""
    try:
        context = spark.sparkContext
    except PySparkException:
        return False
    silence_debug("py4j")  # its debug log holds whatever goes to Java
    with _lending:
        # A new dictionary: another thread may be reading the old one.
        context.environment = {**context.environment, **sealed.lent()}
    return True
