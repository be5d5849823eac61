"""What the target and the tap share, beside the lake. Knows nothing of the Singer SDK."""
