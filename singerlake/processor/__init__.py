"""Work per key, in order, on any number of machines.

from singerlake.processor import Processor, open_engine

engine = open_engine("sqlite:///work.db")
engine.add("orders/17", {"paid": True})
Processor(engine, lambda event: print(event.value)).run()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.errors import BacklogFull, Fenced, Later
    from singerlake.processor.engine.base import Engine
    from singerlake.processor.engine.memory import MemoryEngine
    from singerlake.processor.engine.open import open_engine
    from singerlake.processor.event import Event
    from singerlake.processor.lake_source import LakeSource
    from singerlake.processor.options import ProcessorOptions
    from singerlake.processor.processor import Processor
    from singerlake.processor.sink import once

_HOMES = {
    "BacklogFull": "singerlake.errors",
    "Engine": "singerlake.processor.engine.base",
    "Event": "singerlake.processor.event",
    "Fenced": "singerlake.errors",
    "LakeSource": "singerlake.processor.lake_source",
    "Later": "singerlake.errors",
    "MemoryEngine": "singerlake.processor.engine.memory",
    "Processor": "singerlake.processor.processor",
    "ProcessorOptions": "singerlake.processor.options",
    "once": "singerlake.processor.sink",
    "open_engine": "singerlake.processor.engine.open",
}

__all__ = [
    "BacklogFull",
    "Engine",
    "Event",
    "Fenced",
    "LakeSource",
    "Later",
    "MemoryEngine",
    "Processor",
    "ProcessorOptions",
    "once",
    "open_engine",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
