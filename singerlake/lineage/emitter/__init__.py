"""Sending our own events: where to, by whom, and never in the way of the work."""
