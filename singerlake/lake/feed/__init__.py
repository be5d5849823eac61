"""What was committed, for everything that reacts to the lake: by bytes, or by facts."""
