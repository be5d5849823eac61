"""target-singerlake: lands what a Singer tap extracts in a lake, byte for byte."""
