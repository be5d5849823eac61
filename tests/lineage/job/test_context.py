"""Parents from the environment: both forms, and whatever else stands there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.lineage.event.name import JobName
from singerlake.lineage.job.context import Context, RunName, from_environment

ONE, OTHER = "0192a8a0-0000-7000-8000-000000000001", "0192a8a0-0000-7000-8000-000000000002"


def _context(parent: str, root: str | None = None) -> str:
    found = {"run": {"runId": parent}, "job": {"namespace": "n/1", "name": "dag.task"}}
    if root:
        found["root"] = {"run": {"runId": root}, "job": {"namespace": "n/1", "name": "dag"}}  # type: ignore[dict-item]
    return json.dumps({"parent": found})


def test_the_context_counts_before_the_older_variables() -> None:
    environment = {
        "OPENLINEAGE_CONTEXT": _context(ONE, OTHER),
        "OPENLINEAGE_PARENT_ID": f"a/b/{OTHER}",
    }
    found = from_environment(environment)
    assert found.parent == RunName(ONE, JobName("n/1", "dag.task"))
    assert found.root == RunName(OTHER, JobName("n/1", "dag"))


def test_ids_are_read_from_the_right() -> None:
    environment = {
        "OPENLINEAGE_PARENT_ID": f"s3://bucket/x/dag.task/{ONE}",
        "OPENLINEAGE_ROOT_PARENT_ID": f"ns/dag/{OTHER}",
    }
    found = from_environment(environment)
    assert found.parent == RunName(ONE, JobName("s3://bucket/x", "dag.task"))
    assert found.root == RunName(OTHER, JobName("ns", "dag"))


def test_without_a_root_the_parent_is_the_root() -> None:
    facet = from_environment({"OPENLINEAGE_CONTEXT": _context(ONE)}).run_facets()["parent"]
    assert facet.root.run.run_id == ONE  # type: ignore[attr-defined]
    assert "parent" not in Context().run_facets()


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"parent": 5}', _context("no uuid"), "[" * 9999]
)
def test_a_context_that_cannot_be_read_is_left_out(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert from_environment({"OPENLINEAGE_CONTEXT": text}) == Context()
    assert "OPENLINEAGE_CONTEXT is ignored" in caplog.text


@given(st.text(max_size=60))
def test_whatever_an_id_is_nothing_fails(text: str) -> None:
    found = from_environment({"OPENLINEAGE_PARENT_ID": text})
    assert found.parent is None or found.parent.run_id in text.lower()
