"""One server for all tests that only read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.index.api.ground import Ground, served


@pytest.fixture(scope="package")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with served(tmp_path_factory.mktemp("api")) as found:
        yield found
