"""What others would do with the same records: scripts that the benchmarks run as commands."""
