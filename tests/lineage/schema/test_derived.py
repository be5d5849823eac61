"""Facet schemas out of the installed package: all of them, cached, and again after an upgrade."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import subprocess
from pathlib import Path

import pytest
from openlineage.client import facet_v2
from openlineage.client.serde import Serde

from singerlake.errors import ConfigError
from singerlake.lineage.schema import derive, derived, spec_folder
from singerlake.lineage.schema.validator import Validator
from tests.lineage.schema.matrix import job, run


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "singerlake"


def test_every_facet_of_the_package_has_a_schema() -> None:
    """An upgrade that brings a facet brings its schema: each module of the package has one."""
    facets = [row["url"] for row in derive.facets()]
    for name in facet_v2.__all__:
        module = getattr(facet_v2, name)
        if inspect.ismodule(module):
            own = [kind for kind in vars(module).values() if inspect.isclass(kind)]
            addresses = [kind._get_schema() for kind in own if hasattr(kind, "_get_schema")]
            assert {*addresses} & {*facets}, name
    found = derived.facets().by_place
    assert len(found) >= 38
    assert {group for group, _ in found} == {"run", "job", "dataset", "input", "output"}
    for key in ("schema", "columnLineage", "lineage", "version", "dataSource", "subset"):
        assert any(key == known for _, known in found), key


def test_what_the_package_itself_makes_is_valid(validator: Validator) -> None:
    kit = facet_v2.parent_run
    parent = kit.ParentRunFacet(
        run=kit.Run("0199aa7f-5b1c-7000-8000-0000000000aa"), job=kit.Job("n", "parent")
    )
    sql = facet_v2.sql_job.SQLJobFacet(query="select 1")
    assert validator.problems(run(parent=json.loads(Serde.to_json(parent)))) == []
    assert validator.problems(job(sql=json.loads(Serde.to_json(sql)))) == []


def test_the_second_start_reads_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = derived.facets()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a child was started")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", never)
        assert derived.facets() == first
        (file,) = cache.iterdir()
        kept = json.loads(file.read_text())
        kept["facets"][0]["key"] = "changed"
        file.write_text(json.dumps(kept))
        with pytest.raises(AssertionError, match="child"):
            derived.facets()  # a cache that somebody changed is not believed
    assert derived.facets() == first


def test_another_version_of_the_package_has_another_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = derived._cache()
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    assert derived._cache() != before


def test_a_cache_that_cannot_be_written_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert derived.facets().by_place


def test_without_the_package_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(ConfigError, match=r"singerlake\[lineage\].*--spec-dir"):
        derived.facets()


def test_a_package_that_cannot_be_read_is_an_error_with_its_words(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derive, "__name__", "singerlake.lineage.schema.nothing")
    with pytest.raises(ConfigError, match="No module named"):
        derived.facets()


def test_a_folder_without_facets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found none that describes a facet"):
        spec_folder.facets(tmp_path)
    with pytest.raises(ConfigError, match="found none"):
        spec_folder.facets(tmp_path / "nowhere")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ConfigError, match=r"x\.json"):
        spec_folder.facets(tmp_path)
