"""`singerlake lineage`: a group of commands, each of which is a module of this folder."""

from singerlake.cli.lineage.group import lineage

__all__ = ["lineage"]
