"""OpenLineage: a proxy that loses no event, and the lake's own events."""
