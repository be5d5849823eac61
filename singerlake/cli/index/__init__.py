"""`singerlake index`: the commands about an index, each in a module of its own."""

from singerlake.cli.index.group import index

__all__ = ["index"]
