"""What the command ends with."""

from __future__ import annotations

INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
"""As shells have it for what SIGINT, SIGPIPE and SIGTERM ended."""

EXIT_CODES = {
    0: "all is well",
    1: "problems were found",
    2: "wrong use or settings",
    3: "the lake is damaged",
    4: "somebody else is at work: try again later",
    5: "the store, Spark or another service does not answer",
    70: "a fault of singerlake itself, with a traceback to report",
    INTERRUPTED: "interrupted by Ctrl-C",
    TERMINATED: "ended by SIGTERM: `land` has stopped tap and target, and with lineage on a run is "
    "reported as aborted",
    PIPE_CLOSED: "whoever read the output went away, as `head` does",
}

POINTER = "`singerlake help exit-codes` lists the exit codes."
"""Below the help of every command."""
