"""Columns that were declared as null, and get a type: what came all the same is not lost unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singerlake.cli import main
from singerlake.errors import ConfigError, TooManyMisfits
from singerlake.spark.read_published import published, read_published
from singerlake.sql import query
from tests.spark.projecting import TAP, Projector, commit_of

NULL = {"type": "null"}
INTEGER = {"type": "integer"}


def values(projector: Projector) -> list[Any]:
    """The published values of `v`: the same for every reader."""
    found = [row["v"] for row in projector.rows("s")]
    frame = read_published(projector.spark, projector.out, TAP, "s")
    assert [row.asDict(recursive=True)["v"] for row in frame.collect()] == found
    table = query(projector.lake, "from published.s", published=projector.out).table
    assert table.column("v").to_pylist() == found
    return found


def test_values_that_a_wider_type_would_hide_need_full(projector: Projector) -> None:
    """Issue 16: `5` and `"x"` were null for every reader, and no count had them."""
    projector.land(commit_of("s", NULL, None, 5, "x"))
    projector.run("s")
    assert values(projector) == [None, "5", '"x"']
    projector.land(commit_of("s", INTEGER, 7))
    before = projector.data_files()
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match=r"stream 's'.*: v 2\. Nothing was published.*--full"):
            projector.run("s", dry_run=dry_run)
    command = ["project", projector.lake, projector.out, "--tap", TAP, "--json"]
    ran = CliRunner().invoke(main, [*command, "--dry-run"])
    assert (ran.exit_code, json.loads(ran.stdout)[0]["status"]) == (2, "failed")
    assert projector.data_files() == before
    assert values(projector) == [None, "5", '"x"']

    with pytest.raises(TooManyMisfits, match=r"v \(bigint\) 1, such as \"x\""):
        projector.run("s", full=True)
    assert projector.run("s", full=True, max_misfits=1).total_misfits == {"v": 1}
    assert values(projector) == [None, 5, None, 7]
    assert published(projector.out, TAP, "s").untyped == {}
    projector.land(commit_of("s", INTEGER, 8))
    projector.run("s")
    assert values(projector) == [None, 5, None, 7, 8]


def test_a_place_that_held_nulls_only_gets_its_type_without_a_word(projector: Projector) -> None:
    def pair(x: dict[str, Any]) -> dict[str, Any]:
        inner = {"x": x, "y": NULL}
        return {"type": "array", "items": {"type": "object", "properties": inner}}

    projector.land(commit_of("s", pair(NULL), [{"x": None, "y": 1}, {"x": None}], None))
    projector.run("s")
    assert published(projector.out, TAP, "s").untyped == {"v[].x": 0, "v[].y": 1}
    projector.land(commit_of("s", pair(INTEGER), [{"x": 5, "y": {"a": 2}}]))
    projector.run("s")
    assert published(projector.out, TAP, "s").untyped == {"v[].x": 0, "v[].y": 2}
    assert values(projector) == [
        [{"x": None, "y": "1"}, {"x": None, "y": None}],
        None,
        [{"x": 5, "y": '{"a": 2}'}],
    ]


def test_a_document_without_counts_is_not_trusted(projector: Projector) -> None:
    projector.land(commit_of("s", NULL, None))
    projector.run("s")
    (document,) = Path(projector.out).rglob("published.json")
    found = json.loads(document.read_text())
    del found["untyped"]
    document.write_text(json.dumps(found))
    projector.land(commit_of("s", INTEGER, 7))
    with pytest.raises(ConfigError, match=r"v \(not counted\)"):
        projector.run("s")
    projector.run("s", full=True)
    assert values(projector) == [None, 7]
