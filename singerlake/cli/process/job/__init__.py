"""The jobs in the box."""
