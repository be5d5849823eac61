"""The lake as a folder of pages: made from its documents, read offline, harmless to publish."""
