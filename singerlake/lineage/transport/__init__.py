"""Where events go: HTTP, Kafka, a file. Each sends events in order, and says how far it got."""
