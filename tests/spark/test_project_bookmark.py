"""Where a published version goes up to: a bookmark, also in documents from before it had digits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from singerlake.errors import StaleBookmark
from singerlake.format import document
from singerlake.format.keys import StreamKeys
from singerlake.lake import Bookmark, open_lake
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.projection.document import Settings
from singerlake.spark.read_published import published
from singerlake.store import open_store
from tests.spark.projecting import APPEND, CURRENT, TAP, Projector, simple

KEYS = StreamKeys(TAP, "orders")


def digits(projector: Projector) -> str:
    """Of the newest raw file."""
    *_, file = open_lake(projector.lake).stream(TAP, "orders").snapshot().files()
    return file.check


def age(projector: Projector) -> None:
    """Give the document the form that it had before there was `check`."""
    path = Path(projector.out, TAP, "orders", "published.json")
    body = json.loads(path.read_bytes())
    for name in ("check", "document_checksum"):
        assert body.pop(name)
    path.write_bytes(document.seal(document.encode(body)))


@pytest.mark.parametrize("merged", [False, True])
def test_a_document_from_before_is_added_to_exactly(projector: Projector, merged: bool) -> None:
    projector.land(simple(range(3)), simple(range(3, 5)))
    projector.run()
    age(projector)
    assert published(projector.out, TAP, "orders").check == ""
    assert projector.run().status == "unchanged"
    projector.land(simple(range(5, 9)))
    check = digits(projector)
    if merged:
        vacuum(open_store(projector.lake), KEYS, VacuumOptions())
    done = projector.run()
    assert (done.since, done.until, done.records) == (2, 3, 4)
    assert projector.ids() == list(range(9))
    assert published(projector.out, TAP, "orders").bookmark == Bookmark(
        open_lake(projector.lake).stream(TAP, "orders").snapshot().log_id, 3, check
    )
    assert projector.run().status == "unchanged"


@pytest.mark.parametrize("settings", [APPEND, CURRENT], ids=lambda settings: settings.mode)
def test_a_manifest_that_was_put_back_is_noticed_when_its_log_has_grown_again(
    projector: Projector, settings: Settings
) -> None:
    projector.land(simple(range(2)))
    manifest = Path(projector.lake) / KEYS.manifest
    backup = manifest.read_bytes()
    projector.land(simple(range(2, 4)))
    projector.run(settings=settings)
    manifest.write_bytes(backup)
    projector.land(simple(range(4, 6)), simple(range(6, 8)))
    with pytest.raises(StaleBookmark, match=r"an older manifest that was put back.*--full"):
        projector.run(settings=settings)
    assert projector.ids() == list(range(4))
    projector.run(settings=settings, full=True)
    assert projector.ids() == [0, 1, 4, 5, 6, 7]


def test_as_of_a_number_within_a_merged_file(projector: Projector) -> None:
    projector.land(simple(range(2)))
    projector.land(simple(range(2, 4)))
    check = digits(projector)
    projector.land(simple(range(4, 6)))
    vacuum(open_store(projector.lake), KEYS, VacuumOptions())
    projector.run(as_of=2)
    place = published(projector.out, TAP, "orders").bookmark
    assert (place.sequence, place.check) == (2, check)
    projector.run()
    assert projector.ids() == list(range(6))
