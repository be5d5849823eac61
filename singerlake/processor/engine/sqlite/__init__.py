"""The engine in a SQLite file: one machine, nothing to install."""
