"""`singerlake process dead`: dead letters."""

from singerlake.cli.process.dead.group import dead

__all__ = ["dead"]
