"""How deep JSON may nest where it is handled by code that calls itself, ours and others'.

Python's json reads some hundred levels more than such code can walk through.
"""

from __future__ import annotations

DEEPEST = 256


def is_too_deep(value: object) -> bool:
    """Whether a value, as JSON gives it, has more levels than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
