"""The public names, for mkdocstrings to describe."""

from __future__ import annotations

import importlib

_MODULES = {
    "singerlake": "A lake in Python, without Spark.",
    "singerlake.files": "Files of any kind; see [the guide](../how-to/files.md).",
    "singerlake.processor": "Work per key, in order; see [the guide](../processor.md).",
    "singerlake.wait": "Waits for events; see [the guide](../how-to/wait.md).",
    "singerlake.airflow": "Waits in Airflow; see [the guide](../how-to/airflow.md).",
    "singerlake.spark": "Streams as DataFrames. Needs the extra `spark`.",
    "singerlake.sql": "Streams as views of DuckDB. Needs the extra `duckdb`.",
}
_PROJECTIONS = (
    "singerlake.spark.project.project",
    "singerlake.projection.document.Settings",
    "singerlake.spark.read_published.read_published",
    "singerlake.spark.read_published.read_published_arrow",
    "singerlake.projection.published_files",
)


def page() -> str:
    parts = [
        "# Python\n\nThe public names, from their docstrings. What is not on this page may change "
        "with any version. Errors are on [a page of their own](errors.md).\n\n"
    ]
    for module, about in _MODULES.items():
        parts.append(f"## {module}\n\n{about}\n\n")
        for name in sorted(importlib.import_module(module).__all__):
            if name != "SingerlakeError":
                parts.append(_described(f"{module}.{name}"))
    parts.append("## Projections\n\nSee [the guide](../projections.md).\n\n")
    parts += [_described(name) for name in _PROJECTIONS]
    return "".join(parts)


def _described(path: str) -> str:
    return f"::: {path}\n\n"
