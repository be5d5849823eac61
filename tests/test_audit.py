"""Which advisories are about a pinned version."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

_PATH = Path(__file__).parents[1] / ".ci" / "audit.py"


@pytest.fixture(scope="module")
def audit() -> Any:
    spec = importlib.util.spec_from_file_location("audit", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


def ecosystem(*events: dict[str, str]) -> dict[str, Any]:
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


FIXED = ecosystem({"introduced": "0"}, {"fixed": "2.0"}, {"introduced": "3.0"}, {"fixed": "3.1"})
LAST = ecosystem({"introduced": "1.0"}, {"last_affected": "2.0"})
OPEN = ecosystem({"introduced": "1.0"})
GIT = {"ranges": [{"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "c0ffee"}]}]}
LISTED = {"versions": ["1.0", "2.0", "not a version"]}


@pytest.mark.parametrize(
    ("package", "affected", "spared"),
    [
        (FIXED, ["0.1", "1.9", "3.0"], ["2.0", "2.5", "3.1"]),
        (LAST, ["1.0", "2.0"], ["0.9", "2.0.1"]),
        (OPEN, ["1.0", "99"], ["0.9"]),
        (LISTED, ["1.0", "2.0", "2"], ["1.5"]),
        (LISTED | GIT, ["2.0"], ["1.5"]),
        (LISTED | FIXED, ["1.9", "2.0"], ["2.5"]),
        (GIT, ["1.0"], []),
    ],
)
def test_a_version_is_affected_by_spans_and_by_lists(
    audit: Any, package: dict[str, Any], affected: list[str], spared: list[str]
) -> None:
    advisory = {"affected": [package]}
    assert [text for text in affected if not audit.is_affected(Version(text), advisory)] == []
    assert [text for text in spared if audit.is_affected(Version(text), advisory)] == []
