"""How often a feed asks, and how much at once."""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.errors import ConfigError


@dataclass(frozen=True)
class FeedOptions:
    """A stream that changes is asked for every `poll_seconds`; the longer it stays as it is, the
    less often, down to once in `idle_seconds`. `requests` is how many are under way at once.

    Raises `ConfigError`.
    """

    poll_seconds: float = 5.0
    idle_seconds: float = 60.0
    requests: int = 32

    def __post_init__(self) -> None:
        if not 0 < self.poll_seconds <= self.idle_seconds or self.requests < 1:
            raise ConfigError(
                "expected poll_seconds above 0, idle_seconds of at least poll_seconds, and at "
                f"least one request, found {self}"
            )


DEFAULTS = FeedOptions()
