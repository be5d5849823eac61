"""Files of any kind, below the commands: references, watches and purges."""
