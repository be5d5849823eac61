"""What the tests of lineage share."""

from __future__ import annotations

import pytest

from singerlake.lineage.schema.open import open_validator
from singerlake.lineage.schema.validator import Validator


@pytest.fixture(scope="session")
def validator() -> Validator:
    """With the facets of the installed package."""
    return open_validator()
