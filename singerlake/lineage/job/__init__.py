"""The lake's jobs and their runs: what each of them reports, as events."""
