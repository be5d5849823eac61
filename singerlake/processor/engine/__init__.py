"""Engines: where events wait, and who holds which key."""
