"""The verdicts: a matrix of events, the kind chosen by keys, versions of facets, hostile text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.lineage.schema import core, derived, nesting
from singerlake.lineage.schema.facet import Facets, version_of
from singerlake.lineage.schema.open import open_validator
from singerlake.lineage.schema.validator import Validator
from tests.lineage.samples import PRODUCER, dataset_event, facet, job_event, run_event
from tests.lineage.schema.matrix import GOOD, UUID, job, run
from tests.lineage.schema.matrix_bad import BAD


def test_the_matrix_is_large_enough() -> None:
    assert len(GOOD) + len(BAD) >= 80


@pytest.mark.parametrize("name", GOOD)
def test_a_good_event_is_taken(name: str, validator: Validator) -> None:
    assert validator.parse(json.dumps(GOOD[name]).encode())[1] == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_event_is_refused_with_the_path_of_what_is_wrong(
    name: str, validator: Validator
) -> None:
    event, path = BAD[name]
    problems = validator.parse(json.dumps(event).encode())[1]
    assert path in [problem.path for problem in problems]
    assert all(problem.message for problem in problems)


WHOLE = jsonschema_rs.Draft202012Validator(core.DOCUMENT, validate_formats=True)
"""The spec's own rule: exactly one of the three kinds."""

_named = st.fixed_dictionaries(
    {}, optional={"namespace": st.sampled_from(["n", 5]), "name": st.sampled_from(["x", None])}
)
_values: dict[str, Any] = {
    "eventTime": st.sampled_from(["2026-11-18T10:00:00Z", "today"]),
    "producer": st.sampled_from([PRODUCER, "me", 5]),
    "schemaURL": st.sampled_from([PRODUCER, None]),
    "eventType": st.sampled_from(["START", "DONE"]),
    "run": st.sampled_from([{"runId": UUID}, {}, None]),
    "job": st.one_of(_named, st.none()),
    "dataset": st.one_of(_named, st.just([])),
    "inputs": st.lists(_named, max_size=2),
    "outputs": st.one_of(st.lists(_named, max_size=2), st.just({})),
}
_mended = {
    "eventTime": "2026-11-18T10:00:00Z",
    "producer": PRODUCER,
    "schemaURL": PRODUCER,
}


@settings(max_examples=400, deadline=None)
@given(event=st.fixed_dictionaries({}, optional=_values), mended=st.booleans())
def test_the_choice_by_keys_agrees_with_one_of(event: dict[str, Any], mended: bool) -> None:
    validator = Validator(Facets({}))
    event = event | _mended if mended else event
    assert (validator.problems(event) == []) == WHOLE.is_valid(event)


def test_a_choice_by_keys_that_is_wrong_would_be_seen() -> None:
    """A dataset and a job in one event fit two kinds: a choice of the first would take them."""
    both = dataset_event(job={"namespace": "n", "name": "j"})
    assert not WHOLE.is_valid(both)
    kind = jsonschema_rs.Draft202012Validator(
        {**core.DOCUMENT, "$id": "urn:x", "oneOf": [{"$ref": "#/$defs/DatasetEvent"}]}
    )
    assert kind.is_valid(both)


def test_a_facet_is_held_against_the_version_that_it_names(validator: Validator) -> None:
    old = run(processing_engine=facet("ProcessingEngineRunFacet", "1-0-0", engine_version="2"))
    new = run(processing_engine=facet("ProcessingEngineRunFacet", "1-1-1", engine_version="2"))
    assert validator.problems(old) == []
    assert validator.problems(new) != []


def test_a_version_that_is_not_at_hand_is_counted(validator: Validator) -> None:
    before = validator.fallbacks
    validator.problems(job(sql=facet("SQLJobFacet", "1-1-0", query="q")))
    assert validator.fallbacks == before
    validator.problems(job(sql=facet("SQLJobFacet", "7-7-7", query="q")))
    assert validator.fallbacks == before + 1


@pytest.mark.parametrize(
    ("address", "version"),
    [
        ("https://openlineage.io/spec/facets/1-2-0/SchemaDatasetFacet.json#/x", (1, 2, 0)),
        ("https://openlineage.io/spec/facets/10-0-11/X.json", (10, 0, 11)),
        ("https://example.com/X.json", None),
        ("https://example.com/1-2/X.json", None),
        ("https://example.com/1-2-0/", None),
        (f"https://example.com/{'9' * 5000}-1-1/X.json", None),
    ],
)
def test_the_version_of_an_address(address: str, version: tuple[int, int, int] | None) -> None:
    assert version_of(address) == version


def test_groups_that_are_not_asked_for_are_not_validated() -> None:
    lenient = Validator(derived.facets(), groups=["run"])
    assert lenient.problems(job(sql=facet("SQLJobFacet", "1-1-0"))) == []
    assert lenient.problems(run(parent=facet("ParentRunFacet", "1-2-0"))) != []
    # What every facet has is the core's, and always asked for.
    assert lenient.problems(job(sql={})) != []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"eventTime": NaN}',
        b'{"a": Infinity}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf" + json.dumps(run_event()).encode(),
        json.dumps(run_event()).encode("utf-16"),
        json.dumps(run_event()).encode() + b" {}",
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"a":' * 10_000,
        b"[" * 1_000_000,
    ],
    ids=lambda text: f"{text[:20]!r} {len(text)}",
)
def test_hostile_text_is_refused(text: bytes, validator: Validator) -> None:
    problems = validator.parse(text)[1]
    assert len(problems) == 1
    assert problems[0].path == ""


def test_duplicate_keys_and_long_numbers_are_as_json_has_them(validator: Validator) -> None:
    text = json.dumps(run_event(big=10**40, small=1.5e-300)).encode()
    assert validator.parse(text)[1] == []
    twice = text.replace(b'"eventType"', b'"eventType": "DONE", "eventType"')
    assert validator.parse(twice)[1] == []  # the last one counts, as everywhere


def nested(depth: int, opening: bytes = b'{"a":', closing: bytes = b"}") -> bytes:
    return opening * depth + b"1" + closing * depth


@pytest.mark.parametrize("depth", [1, nesting.MOST - 1, nesting.MOST, nesting.MOST + 1, 300])
@pytest.mark.parametrize("hidden", [b"", b'"[[{{"'])
def test_nesting_is_bounded(depth: int, hidden: bytes, validator: Validator) -> None:
    """Brackets in strings, which the quick look takes for nesting, change no verdict."""
    text = nested(depth).replace(b"1", hidden or b"1")
    found = [str(one) for one in validator.parse(text)[1]]
    assert any("nesting" in one for one in found) == (depth > nesting.MOST)


def disguised(depth: int) -> bytes:
    """Every bracket has its partner beside it, in a string."""
    return b'{"a":' + b'["]",' * (depth - 1) + b"1" + b',"["]' * (depth - 1) + b"}"


@pytest.mark.parametrize("depth", [nesting.MOST, nesting.MOST + 1, 300, 900])
def test_no_string_hides_the_depth(depth: int, validator: Validator) -> None:
    for text in (disguised(depth), disguised(depth).replace(b'"]"', b'"\\\\\\"]"')):
        assert len(msgspec.json.decode(text)) == 1
        found = [str(one) for one in validator.parse(text)[1]]
        assert any("nesting" in one for one in found) == (depth > nesting.MOST)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.text(alphabet='[]{}"\\x', max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text("{[", max_size=2), inner)
        ),
    )
)
def test_the_quick_look_at_nesting_never_errs(value: Any) -> None:
    text = msgspec.json.encode(value)
    if nesting.is_too_deep(text) is False and isinstance(value, dict):
        assert not nesting.is_value_too_deep(value)


def test_no_value_of_an_event_is_quoted(validator: Validator) -> None:
    """Problems are logged, and events may hold secrets."""
    secret = "hunter2-hunter2"
    events = [
        run_event(eventTime=secret),
        run_event(eventType=secret),
        run_event(inputs=secret),
        run(parent=facet("ParentRunFacet", "1-2-0", run={"runId": secret}, job=secret)),
        job(jobType=facet("JobTypeJobFacet", "2-0-4", processingType=[secret], integration=1)),
        job(lineage=facet("LineageFacet", "1-0-0", entries=[secret])),
    ]
    for event in events:
        problems = validator.problems(event)
        assert problems
        assert secret not in " ".join(map(str, problems))


def with_values(count: int) -> bytes:
    """A valid event with so many values in a facet that nobody knows."""
    values = {"_producer": PRODUCER, "_schemaURL": "https://a.example/b", "values": "HERE"}
    text = json.dumps(run_event(run={"runId": UUID, "facets": {"mine": values}})).encode()
    return text.replace(b'"HERE"', b"[" + b",".join([b"[]"] * (count // 2)) + b"]")


def test_an_event_of_very_many_values_is_refused_before_it_is_parsed(validator: Validator) -> None:
    """33 KB of gzip could be eleven million lists: a gigabyte of memory."""
    assert validator.parse(with_values(nesting.MOST_VALUES - 1000))[1] == []
    event, problems = validator.parse(with_values(nesting.MOST_VALUES + 1000))
    assert event is None
    assert "at most 500,000 values" in problems[0].message


def test_of_a_large_event_only_the_first_problem_is_looked_for(validator: Validator) -> None:
    """All of them are made before the first is given: 5 KB and 50 microseconds each."""
    few = run_event(run={"runId": UUID, "facets": {str(n): {} for n in range(50)}})
    assert len(validator.parse(json.dumps(few).encode())[1]) == 20
    many = run_event(run={"runId": UUID, "facets": {str(n): {} for n in range(5_000)}})
    (problem,) = validator.parse(json.dumps(many).encode())[1]
    assert problem.path.startswith("run.facets[0]._")
    wrong = {f"parent{n}": facet("ParentRunFacet", "1-1-0") for n in range(3_000)}
    several = run_event(run={"runId": UUID, "facets": wrong | {"parent": wrong["parent0"]}})
    (problem,) = validator.parse(json.dumps(several).encode())[1]
    assert problem.path.startswith("run.facets.parent.")


def test_a_name_without_end_is_shown_in_part(validator: Validator) -> None:
    event = run_event(run={"runId": UUID, "facets": {"k" * 1_000_000: {}}})
    problems = validator.parse(json.dumps(event).encode())[1]
    assert problems
    assert all(len(str(problem)) < 1000 for problem in problems)


def test_official_files_in_a_folder_are_used_instead(tmp_path: Path) -> None:
    """In the form of the spec's own files, with two versions of a facet and one in two groups."""

    def document(version: str, required: list[str]) -> dict[str, Any]:
        name = "NoteJobFacet"
        core_facet = f"https://openlineage.io/spec/1-0-5/OpenLineage.json#/$defs/{'JobFacet'}"
        body = {"properties": {"text": {"type": "string"}}, "required": required}
        return {
            "$schema": core.DRAFT,
            "$id": f"https://openlineage.io/spec/facets/{version}/{name}.json",
            "$defs": {
                name: {"allOf": [{"$ref": core_facet}, body]},
                "NoteRunFacet": {
                    "allOf": [{"$ref": core_facet.replace("JobFacet", "RunFacet")}, body]
                },
            },
            "properties": {
                "note": {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"$ref": "#/$defs/NoteRunFacet"}]}
            },
        }

    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "Note.json").write_text(json.dumps(document("1-0-0", [])))
    (tmp_path / "Note.json").write_text(json.dumps(document("1-1-0", ["text"])))
    own = open_validator(tmp_path)
    assert own.problems(job(note=facet("NoteJobFacet", "1-0-0"))) == []
    for event in (job(note=facet("NoteJobFacet", "1-1-0")), run(note=facet("N", "3-0-0"))):
        assert [one.path.rpartition(".")[2] for one in own.problems(event)] == ["text"]
    assert own.problems(job(sql=facet("SQLJobFacet", "1-1-0"))) == []  # not in the folder
    assert own.problems(job_event()) == []


def test_the_network_is_never_asked(tmp_path: Path) -> None:
    address = "https://openlineage.io/spec/facets/1-0-0/ElsewhereJobFacet.json"
    parent = {"$ref": f"{core.ADDRESS}#/$defs/JobFacet"}
    document = {
        "$id": address,
        "$defs": {"E": {"allOf": [parent, {"$ref": "https://example.com/nowhere.json"}]}},
        "properties": {"e": {"$ref": "#/$defs/E"}},
    }
    (tmp_path / "e.json").write_text(json.dumps(document))
    with pytest.raises((ValueError, jsonschema_rs.ReferencingError)):
        open_validator(tmp_path).problems(job(e=facet("E", "1-0-0")))
