"""Where an index is kept: one contract, and a module for each database."""
