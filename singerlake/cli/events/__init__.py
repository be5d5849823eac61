"""`singerlake events`: what is awaited, and what has come."""

from singerlake.cli.events.group import events as events
