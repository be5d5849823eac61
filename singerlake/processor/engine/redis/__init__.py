"""The engine on Redis or Valkey, single or Cluster."""
