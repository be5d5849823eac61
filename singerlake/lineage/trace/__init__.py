"""Traces: what connects a process at work to the emitter of its events."""
