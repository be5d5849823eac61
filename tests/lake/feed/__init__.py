"""Increments, and the feed."""
