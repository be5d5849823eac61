"""What Airflow asks a provider for."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any


def get_provider_info() -> dict[str, Any]:
    return {
        "package-name": "singerlake",
        "name": "Singerlake",
        "description": "Waits for runs and commits of a lake, posts and messages.",
        "versions": [version("singerlake")],
    }
