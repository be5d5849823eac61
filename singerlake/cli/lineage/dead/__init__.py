"""`singerlake lineage dead`: a group of commands, each of which is a module of this folder."""

from singerlake.cli.lineage.dead.group import dead

__all__ = ["dead"]
