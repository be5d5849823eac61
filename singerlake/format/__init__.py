"""The format as pure values and bytes: no store, no clock, no environment."""
