"""Tables about the lake: what was committed, which files hold it, and which runs there were."""
