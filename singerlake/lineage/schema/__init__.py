"""What an OpenLineage event has to look like: the core schema, the facets, and the validator."""
