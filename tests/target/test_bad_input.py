"""A bad line ends the run: what came before it is kept, and the log says where it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from singerlake import errors
from singerlake.format import message
from tests.target.driving import (
    PATHS,
    Outcome,
    assert_clean,
    land,
    numbers,
    record,
    run,
    schema,
    state,
    stored,
    timed,
)

pytestmark = pytest.mark.usefixtures("door")

SECRET = "a value that no log may hold"
BEFORE = [schema("s"), record("s", 1), state({"at": 1}), record("s", 2)]
"""Three lines and a record: line 5 is the bad one."""

WHOLE = json.dumps({"type": "RECORD", "stream": "s", "record": {"id": 3, "x": SECRET}})
BAD: dict[str, tuple[bytes, str]] = {
    "truncated": (WHOLE[:-10].encode(), "line 5 of the input, stream 's': not JSON"),
    "garbage": (f"{SECRET} {{".encode(), "line 5 of the input: not JSON"),
    "a number": (b"17", "line 5 of the input: "),
    "a list": (f'["{SECRET}"]'.encode(), "line 5 of the input: "),
    "an object without type": (f'{{"a": "{SECRET}"}}'.encode(), "line 5 of the input: "),
    "a record without type": (
        WHOLE.replace('"type": "RECORD", ', "").encode(),
        "line 5 of the input, stream 's': ",
    ),
    "a comma too many": (
        WHOLE.replace("}}", ",}}").encode(),
        "line 5 of the input, stream 's': not JSON",
    ),
    "two objects on one line": (
        f"{WHOLE}{WHOLE}".encode(),
        "line 5 of the input, stream 's': not JSON",
    ),
    "invalid UTF-8": (
        WHOLE.replace("no log", "no \udcff log").encode(errors="surrogateescape"),
        "line 5 of the input, stream 's': not UTF-8",
    ),
    "a record that is no object": (
        f'{{"type": "RECORD", "stream": "s", "record": "{SECRET}"}}'.encode(),
        "line 5 of the input, stream 's': a RECORD message of stream 's' has no `record` object",
    ),
    "a record without stream": (
        f'{{"type": "RECORD", "record": {{"id": 1, "x": "{SECRET}"}}}}'.encode(),
        "line 5 of the input: a RECORD message has no `stream`",
    ),
    "a record before its schema": (
        WHOLE.replace('"s"', '"other"').encode(),
        "line 5 of the input, stream 'other': ",
    ),
    "a version before its schema": (
        b'{"type": "ACTIVATE_VERSION", "stream": "other", "version": 1}',
        "line 5 of the input, stream 'other': ",
    ),
    "a version that is none": (
        b'{"type": "ACTIVATE_VERSION", "stream": "s"}',
        "line 5 of the input, stream 's': the ACTIVATE_VERSION message has no `version`",
    ),
    "a record without its key": (
        WHOLE.replace('"id"', '"no id"').encode(),
        "line 5 of the input, stream 's': ",
    ),
    "a time that is none": (
        WHOLE.replace('"record"', '"time_extracted": "noon", "record"').encode(),
        "line 5 of the input, stream 's': ",
    ),
    "a schema without properties": (
        b'{"type": "SCHEMA", "stream": "t", "schema": {"type": "object"}}',
        "line 5 of the input, stream 't': ",
    ),
    "properties that are no object": (
        b'{"type": "SCHEMA", "stream": "t", "schema": {"properties": []}, "key_properties": []}',
        "line 5 of the input, stream 't': the SCHEMA message's `schema` has no object `properties`",
    ),
    "properties that are null": (
        b'{"type": "SCHEMA", "stream": "t", "schema": {"properties": null}}',
        "line 5 of the input, stream 't': ",
    ),
    "a schema that is no object": (
        b'{"type": "SCHEMA", "stream": "t", "schema": [], "key_properties": []}',
        "line 5 of the input, stream 't': ",
    ),
    "keys that are no list": (
        b'{"type": "SCHEMA", "stream": "t", "schema": {"properties": {}}, "key_properties": 7}',
        "line 5 of the input, stream 't': ",
    ),
    "a state without value": (b'{"type": "STATE"}', "line 5 of the input: a STATE message"),
    "a name that no path can hold": (
        schema("x" * 1000).encode(),
        "line 5 of the input, stream 'xxx",
    ),
}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


def assert_refused(outcome: Outcome, words: str) -> None:
    assert words in outcome.refused()
    assert_our_name(outcome)
    assert SECRET not in outcome.log
    assert [json.loads(each) for each in outcome.states] == [{"at": 1}]


def assert_our_name(outcome: Outcome) -> None:
    """The log has the name that docs/reference/errors.md has."""
    name = re.search(r"\| (\w+): line", outcome.error)
    assert name, outcome.error
    assert name[1] in vars(errors), outcome.error


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a record before its schema", "RecordBeforeSchema"),
        ("a record without its key", "MissingKey"),
    ],
)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_the_log_has_the_name_of_the_docs(
    tmp_path: Path, path: dict[str, Any], name: str, expected: str
) -> None:
    outcome = run([*BEFORE, BAD[name][0]], tmp_path, **path)
    assert f"| {expected}: line 5" in outcome.refused()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_ends_the_run_and_what_came_before_is_kept(
    name: str, path: dict[str, Any], tmp_path: Path
) -> None:
    line, words = BAD[name]
    after = [record("s", 99), state({"at": 99})]
    assert_refused(run([*BEFORE, line, *after], tmp_path, **path), words)
    # Where the streams of a block were sorted, a record behind it may be there too: not its STATE.
    assert numbers(tmp_path, "s")[:2] == [1, 2]
    assert_clean(tmp_path)


def test_a_line_without_end_is_refused_and_told_by_its_number(
    path: dict[str, Any], tmp_path: Path
) -> None:
    data = "".join(line + "\n" for line in BEFORE) + WHOLE[:-3] + "x" * message.LONGEST
    words = f"line 5 of the input, stream 's': a line of more than {message.LONGEST} bytes"
    assert_refused(run(data.encode(), tmp_path, **path), words)
    assert numbers(tmp_path, "s") == [1, 2]
    assert_clean(tmp_path)


def test_an_input_that_ends_inside_a_line_is_refused(path: dict[str, Any], tmp_path: Path) -> None:
    data = "".join(line + "\n" for line in BEFORE) + WHOLE[:-1]
    assert_refused(run(data.encode(), tmp_path, **path), "line 5 of the input, stream 's'")
    assert numbers(tmp_path, "s") == [1, 2]


def test_a_last_line_without_line_feed_is_taken(path: dict[str, Any], tmp_path: Path) -> None:
    data = "".join(line + "\n" for line in BEFORE) + state({"at": 2})
    outcome = run(data.encode(), tmp_path, **path)
    assert (outcome.code, outcome.states) == (0, [b'{"at": 2}'])
    assert numbers(tmp_path, "s") == [1, 2]


def test_unknown_message_types_are_warned_of_once(path: dict[str, Any], tmp_path: Path) -> None:
    unknown = [json.dumps({"type": "PONDER", "secret": SECRET})] * 3
    other = [json.dumps({"type": "MUSE", "stream": "s"})]
    outcome = run([*BEFORE, *unknown, *other, record("s", 3), *unknown], tmp_path, **path)
    assert outcome.code == 0
    assert outcome.log.count("PONDER") == 1
    assert outcome.log.count("MUSE") == 1
    assert SECRET not in outcome.log
    assert numbers(tmp_path, "s") == [1, 2, 3]


def test_blank_lines_and_windows_line_ends_are_fine(path: dict[str, Any], tmp_path: Path) -> None:
    data = "\r\n".join(["", *BEFORE, "", "  ", record("s", 3), state({"at": 3}), ""])
    outcome = run(data.encode(), tmp_path, **path)
    assert (outcome.code, outcome.states) == (0, [b'{"at": 3}'])
    assert numbers(tmp_path, "s") == [1, 2, 3]
    assert_clean(tmp_path)


def test_the_line_number_counts_over_many_blocks(tmp_path: Path) -> None:
    lines = [schema("s"), *(timed("s", number, pad="x" * 200) for number in range(5000))]
    outcome = run([*lines, "{"], tmp_path)
    assert f"line {len(lines) + 1} of the input" in outcome.refused()
    assert len(numbers(tmp_path, "s")) == 5000


def test_the_line_number_is_that_of_the_bad_one_among_equal_lines() -> None:
    """The same record is right under the first schema, and lacks a key under the second."""
    root = "memory://equal-lines"
    lines = [schema("s"), record("s", 1), schema("s", keys=["id", "more"]), record("s", 1)]
    with pytest.raises(Exception, match="line 4 of the input"):
        land(lines, root)
    assert numbers(root, "s") == [1]


def test_what_is_wrong_with_one_stream_keeps_nothing_back_of_another() -> None:
    """Records are sorted by stream: the first stream's last line is bad."""
    root = "memory://one-bad-stream"
    lines = [schema("a"), schema("b"), timed("a", 1), timed("b", 1), timed("b", 2)]
    with pytest.raises(Exception, match="line 6 of the input, stream 'a'"):
        land([*lines, record("a", 2).replace('"id"', '"other"')], root)
    assert numbers(root, "a") == [1]
    assert numbers(root, "b") == [1, 2]


def test_bad_lines_that_make_up_for_each_other_acknowledge_nothing(
    tmp_path: Path,
) -> None:
    """Two objects on one line and one on two: as many objects as lines, in other places."""
    two = timed("b", 1) + timed("b", 2)
    torn = timed("a", 1).replace(', "record"', ',\n"record"')
    lines = [schema("a"), schema("b"), timed("a", 0), timed("b", 0), two]
    outcome = run([*lines, state({"at": "after"}), timed("a", 2), torn], tmp_path)
    assert "line 5 of the input, stream 'b': not JSON" in outcome.refused()
    assert outcome.states == []


def test_integers_that_python_does_not_read_are_kept_on_the_raw_path() -> None:
    root = "memory://many-digits"
    line = timed("s", 1).replace('"id": 1', '"id": 1, "n": ' + "7" * 5000)
    land([schema("s", keys=[]), line], root)
    assert stored(root, "s") == [line.encode()]


def test_what_python_does_not_read_is_a_clear_error_on_the_mapped_path(tmp_path: Path) -> None:
    line = WHOLE.replace('"id": 3', '"id": 3, "n": ' + "7" * 5000)
    outcome = run([*BEFORE, line], tmp_path, **PATHS["mapped path"])
    assert_refused(outcome, "line 5 of the input, stream 's'")
    assert numbers(tmp_path, "s") == [1, 2]
