"""OpenLineage events as values: what they hold, how things are named, how runs get ids."""
