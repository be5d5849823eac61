"""Reading and checking settings, as the tap and the target both do."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from singerlake.errors import ConfigError
from singerlake.format.nearest import did_you_mean

Settings = dict[str, Any]
Read = TypeVar("Read")


def require_objects(config: Mapping[str, Any], *paths: str) -> None:
    """Raises `ConfigError`, which never quotes what it found: there are secrets in such settings.

    To be called ahead of a validator, which would quote what it refuses. A path is a setting's
    name, or that of an object in one, as in `batch_config.storage`, behind the one around it.
    """
    for path in paths:
        value: Any = config
        for name in path.split("."):
            value = (value or {}).get(name)
        if not isinstance(value, Mapping | None):
            raise ConfigError(f'{path} is not an object, such as {{"key": …, "secret": …}}')


def from_files(read: Callable[..., Read], *arguments: Any) -> Read:
    """What `read` makes of the files of `--config`. Raises `ConfigError`."""
    try:
        return read(*arguments)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            "what --config names cannot be read, or is no JSON object, the settings: " + str(error)
        ) from None


def from_environment(
    properties: Mapping[str, Mapping[str, Any]],
    prefix: str,
    read: Callable[[Settings, str], Settings],
) -> Settings:
    """The settings in the environment, each of which `read` takes out of it.

    `read` is given the JSON schema of one, and the prefix. Raises `ConfigError`, which names the
    variable, and not its value: it may be secret.
    """
    config: Settings = {}
    for name, setting in properties.items():
        try:
            found = read({"properties": {name: setting}}, prefix)
            if "number" in setting["type"] and name in found:
                found[name] = float(found[name])  # which the SDK leaves a text
            config |= found
        except ValueError:
            kind = " or ".join(each for each in setting["type"] if each != "null")
            raise ConfigError(
                f"the environment variable {prefix}{name.upper()} "
                f"cannot be read as JSON of the type {kind}"
            ) from None
    return config


def names_in_environment(prefix: str) -> list[str]:
    """The settings that the environment names, known or not."""
    names = (name.removeprefix(prefix).lower() for name in os.environ if name.startswith(prefix))
    return [name for name in names if name != "loglevel"]


def warn_of_unknown(
    given: Iterable[str], known: Collection[str], log: logging.Logger, silent: Iterable[str] = ()
) -> None:
    """Warn of every setting that nobody knows, with the nearest name.

    `silent` are names that are no setting here, and no slip either. Nor is a name that begins
    with `_`: Meltano has such settings of its own.
    """
    for name in sorted({*given} - {*known, *silent}):
        if not name.startswith("_"):
            meant = did_you_mean(name, known)
            log.warning("The setting '%s' is unknown, and is ignored.%s", name, meant)
