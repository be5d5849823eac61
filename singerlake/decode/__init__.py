"""From the lines of Singer files to Arrow record batches, without any engine."""
