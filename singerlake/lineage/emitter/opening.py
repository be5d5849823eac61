"""An emitter for a process, by its settings; none where lineage is off or cannot be set up."""

from __future__ import annotations

import logging

from singerlake.errors import ConfigError
from singerlake.lineage.emitter.destination import Destination, find
from singerlake.lineage.emitter.emitter import Emitter
from singerlake.lineage.emitter.sender import Sender, open_sender


def open_emitter(setting: str, logger: logging.Logger) -> Emitter | None:
    """None where lineage is off. What is wrong with its settings is a warning: the work goes on."""
    try:
        destination = find(setting)
        if destination is None:
            return None
        return Emitter(_sender(destination), str(destination), logger)
    except ConfigError as error:
        logger.warning("Lineage is off: %s", error)
        return None


def _sender(destination: Destination) -> Sender:
    return open_sender(destination) if destination.sends else lambda event: None
