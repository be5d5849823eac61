"""`singerlake process`: work per stream, in commit order."""

from singerlake.cli.process.group import process

__all__ = ["process"]
