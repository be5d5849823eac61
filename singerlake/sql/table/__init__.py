"""Tables of DuckDB, made of streams and of published files while DuckDB reads them."""
