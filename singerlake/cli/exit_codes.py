"""What the command ends with."""

from __future__ import annotations

INTERRUPTED = 130
PIPE_CLOSED = 141
"""As shells have it for what SIGINT and SIGPIPE ended."""

EXIT_CODES = (
    "Exit codes: 0 all is well, 1 problems were found, 2 wrong use or settings, 3 the lake is "
    "damaged, 4 somebody else is at work, 5 the store or Spark does not answer, "
    f"70 a fault of singerlake itself, {INTERRUPTED} interrupted by Ctrl-C, "
    f"{PIPE_CLOSED} whoever read the output went away."
)
