"""What a buffer has on the disk: partitions of events, the state, the lock, what damage leaves."""
