"""The `singerlake` command."""

from singerlake.cli.main import main

__all__ = ["main"]
