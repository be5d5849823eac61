"""tap-singerlake: replays a lake's streams, whole or since the last run."""
