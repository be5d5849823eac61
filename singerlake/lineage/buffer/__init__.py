"""The durable buffer of the proxy: events on the local disk, in the order received."""

from singerlake.lineage.buffer.buffer import Buffer
from singerlake.lineage.buffer.disk.event import Stored
from singerlake.lineage.buffer.limits import Limits

__all__ = ["Buffer", "Limits", "Stored"]
