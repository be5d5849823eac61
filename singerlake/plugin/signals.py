"""Signals that stop a plugin. The SDK heeds two of them, SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType


def heed_hangup(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have SIGHUP handled too, which comes where a terminal or a session closes.

    Not under `nohup`, which has it ignored, and not on Windows, which has no SIGHUP.
    """
    hangup = getattr(signal, "SIGHUP", None)
    if (
        hangup is not None
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(hangup) is not signal.SIG_IGN
    ):
        signal.signal(hangup, handler)
