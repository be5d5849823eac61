"""How many of the awaited events have to be there."""

from __future__ import annotations

import msgspec

from singerlake.errors import ConfigError


class Need(msgspec.Struct, frozen=True, omit_defaults=True):
    """All events, unless one of these says less.

    `at_least` so many have to be there, or `missing_at_most` so many may be missing. Raises
    `ConfigError` where both are given.
    """

    at_least: int | None = None
    missing_at_most: int | None = None

    def __post_init__(self) -> None:
        if self.at_least is not None and self.missing_at_most is not None:
            raise ConfigError("expected at_least or missing_at_most, found both: give only one")

    def of(self, total: int) -> int:
        """How many of so many. Raises `ConfigError` for what can never be, or always is."""
        if self.at_least is not None:
            needed, given = self.at_least, f"at_least={self.at_least}"
        elif self.missing_at_most is not None:
            needed = total - self.missing_at_most
            given = f"missing_at_most={self.missing_at_most}"
            if self.missing_at_most < 0:
                needed = 0
        else:
            needed, given = total, "all"
        if not 1 <= needed <= total:
            raise ConfigError(
                f"expected to wait for 1 to {total} of {total} events, found {given}: "
                + ("no wait could end" if needed > total else "every wait would end at once")
            )
        return needed


ALL = Need()
ANY = Need(at_least=1)
