"""The facets of the installed openlineage-python, from the cache or from a child process."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from singerlake.errors import ConfigError
from singerlake.lineage.schema import derive, overrides
from singerlake.lineage.schema.facet import Facet, Facets, collected, version_of

logger = logging.getLogger(__name__)

PACKAGE = "openlineage-python"
SECONDS = 120.0


def facets() -> Facets:
    """Raises `ConfigError` where the package is not installed."""
    rows = _cached() or _derived()
    found = (_facet(row) for row in rows)
    return collected([*overrides.OLDER, *(overrides.amended(one) for one in found if one)])


def _facet(row: dict[str, Any]) -> Facet | None:
    version = version_of(row["url"])
    return version and Facet(row["group"], row["key"], version, row["schema"])


def _cache() -> Path:
    """Named for the package's version and for what derives from it: an upgrade reads neither's."""
    try:
        installed = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigError(
            f'validation needs {PACKAGE}, which is missing: pip install "singerlake[lineage]", '
            "or give the folder of the spec's own schema files with --spec-dir"
        ) from error
    deriver = hashlib.sha256(Path(derive.__file__).read_bytes()).hexdigest()[:12]
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "singerlake" / f"openlineage-facets-{installed}-{deriver}.json"


def _cached() -> list[dict[str, Any]] | None:
    path = _cache()
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_bytes())
        text = json.dumps(kept["facets"], sort_keys=True)
        if kept["sha256"] == hashlib.sha256(text.encode()).hexdigest():
            rows: list[dict[str, Any]] = kept["facets"]
            return rows
    return None


def _derived() -> list[dict[str, Any]]:
    """Half a second and 38 MB, in a process that ends."""
    ended = subprocess.run(
        [sys.executable, "-m", derive.__name__],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if ended.returncode:
        raise ConfigError(
            f"cannot derive facet schemas from {PACKAGE}: {ended.stderr.strip()[-500:]}; install "
            "another version of the package, or give the spec's files with --spec-dir"
        )
    rows: list[dict[str, Any]] = json.loads(ended.stdout)
    text = json.dumps(rows, sort_keys=True)
    kept = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "facets": rows}
    path = _cache()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text(json.dumps(kept))
        fresh.replace(path)
    except OSError as error:
        logger.info("facet schemas are derived at every start, as %s: %s", path, error)
    return rows
