"""Pins: their documents and their keys."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import CorruptDocument, UnsupportedFormat
from singerlake.format import document, keys, pin
from singerlake.format.keys import PinObject
from singerlake.format.pin import Pin, PinnedStream, UnendedRun
from tests.format.made import EPOCH, ODD_NAMES, moments, names

places = st.builds(
    PinnedStream,
    log_id=st.text(min_size=1, max_size=8),
    sequence=st.integers(1, 2**53),
    check=st.text(max_size=8),
    gone=st.integers(0, 2**53),
)
runs = st.builds(
    UnendedRun,
    tap_id=names,
    run_id=names,
    writer_id=names,
    outcome=st.sampled_from(["open", "lost"]),
)
pins: st.SearchStrategy[Pin] = st.builds(
    pin.new,
    name=names,
    id=st.text(max_size=4),
    created=moments,
    by=st.text(max_size=8),
    until=st.none() | moments,
    taps=st.dictionaries(names, st.dictionaries(names, places, max_size=3), max_size=3),
    runs=st.lists(runs, max_size=2).map(tuple),
)


@given(pins)
def test_a_document_reads_back_as_it_was(made: Pin) -> None:
    assert pin.decode(pin.encode(made), "here") == made


@given(pins, st.data())
def test_a_document_with_another_byte_is_corrupt(made: Pin, data: st.DataObject) -> None:
    body = bytearray(pin.encode(made))
    at = data.draw(st.integers(0, len(body) - 2))
    body[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != body[at]))
    with pytest.raises((CorruptDocument, UnsupportedFormat)):
        pin.decode(bytes(body), "here")


def test_what_is_no_pin_says_what_to_do() -> None:
    made = pin.new(name="p", id="", created=EPOCH, taps={}, runs=())
    wrong: list[Pin] = [
        msgspec.structs.replace(made, name=""),
        msgspec.structs.replace(made, taps={"t": {"s": PinnedStream(log_id="", sequence=1)}}),
        msgspec.structs.replace(made, taps={"t": {"s": PinnedStream(log_id="l", sequence=0)}}),
        msgspec.structs.replace(made, format="singerlake.run"),
    ]
    for one in wrong:
        with pytest.raises(CorruptDocument, match="singerlake unpin"):
            pin.decode(document.encode(one), "here")
    newer = msgspec.structs.replace(made, format_version=document.VERSION + 1)
    with pytest.raises(UnsupportedFormat):
        pin.decode(pin.encode(newer), "here")


@given(names)
def test_a_key_tells_its_name_and_is_no_taps(name: str) -> None:
    key = keys.pin(name)
    assert keys.parse(key) == PinObject(name)
    assert key.count("/") == 2
    assert not any(
        key.startswith(f"{keys.tap_folder(tap)}/") for tap in (name, *ODD_NAMES, "_pins")
    )


@pytest.mark.parametrize("rest", ["a", "a.txt", "_a.json", ".json", "a/b.json", "!41.json"])
def test_what_is_no_pins_key_is_nothing(rest: str) -> None:
    assert keys.parse(f"raw/_pins/{rest}") is None
