"""Files of any kind: their bytes in the store, who names them, and their removal."""
