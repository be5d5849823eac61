"""Measurements of Singerlake: `python -m benchmarks --help` lists them.

Each benchmark is one module with a docstring, whose first line is its help, and `run() -> Result`.
docs/benchmarks.md has the method and the last results, or the page that a module names as `PAGE`.
"""

NAMES = (
    "commits",
    "snapshots",
    "feed",
    "index",
    "http",
    "ordered",
    "lineage",
    "start",
    "landing",
    "many",
    "lineage_landing",
    "replay",
    "spark",
    "load",
    "wait",
)
"""In the order in which they run."""
