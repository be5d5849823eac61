"""The proxy: takes events over HTTP, keeps them in a buffer, sends them on in order."""
