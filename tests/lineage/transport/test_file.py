"""A file of JSON lines; and what an event belongs to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from singerlake.lineage.transport.file import FileTransport
from singerlake.lineage.transport.open import Reach, open_transport
from singerlake.lineage.transport.origin import key_of, lane_of
from tests.lineage.samples import RUN_ID, dataset_event, job_event, run_event
from tests.lineage.schema.matrix import UUID, parent, run


def test_an_event_is_a_line_and_its_numbers_stay(tmp_path: Path) -> None:
    transport = open_transport(f"file:{tmp_path}/out.jsonl", Reach())
    pretty = b'{\n  "b": 1.10,\n  "a": [1, 12345678901234567890123]\n}'
    assert transport.send([pretty, b"{}"]).delivered == 2
    transport.close()
    assert transport.send([b"[]"]).delivered == 1
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert lines == [b'{"b":1.10,"a":[1,12345678901234567890123]}', b"{}", b"[]"]


def test_a_line_that_a_crash_cut_off_stays_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b'{"half": ')
    transport = FileTransport(tmp_path / "out")
    assert transport.send([b"{}"]).delivered == 1
    transport.close()
    assert (tmp_path / "out").read_bytes() == b'{"half": \n{}\n'


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    transport = FileTransport(tmp_path / "nowhere" / "out")
    answer = transport.send([b"{}"])
    assert (answer.delivered, answer.refused) == (0, False)
    assert "No such file" in answer.reason
    (tmp_path / "nowhere").mkdir()
    assert transport.send([b"{}"]).delivered == 1
    transport.close()


ROOT = {"run": {"runId": RUN_ID}, "job": {"namespace": "n", "name": "root"}}


@pytest.mark.parametrize(
    ("event", "lane", "key"),
    [
        (run_event(), RUN_ID, "run:shop/load.orders"),
        (run(parent=parent()), UUID, "run:n/p"),
        (run(parent=parent(root=ROOT)), RUN_ID, "run:n/root"),
        (job_event(), "job:shop/load.orders", "job:shop/load.orders"),
        (dataset_event(), "dataset:s3://lake/o", "dataset:s3://lake/o"),
    ],
)
def test_what_an_event_belongs_to(event: dict[str, object], lane: str, key: str) -> None:
    text = json.dumps(event).encode()
    assert (lane_of(text), key_of(text)) == (lane, key)


def test_an_event_of_another_form_has_a_lane_too() -> None:
    assert lane_of(b'{"run": 5}') == lane_of(b"nonsense") == ""
