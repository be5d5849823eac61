"""What tests of the target share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singerlake.store import memory
from tests.target import driving


@pytest.fixture(params=driving.DOORS)
def door(request: pytest.FixtureRequest) -> Iterator[str]:
    """The same test through both doors, where it starts the command."""
    # With patches of its own: a test may undo those that it made.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driving, "DOOR", request.param)
        # A lake in memory is known by its name: the second door must not meet that of the first.
        patch.setattr(memory, "_stores", {})
        yield str(request.param)
