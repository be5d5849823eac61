"""Logs that are begun anew: which places of older logs are true, and who gave a number out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.format import manifest as manifests
from singerlake.format.continued import Continued
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Manifest
from singerlake.lake import commit, continuation

KEYS = StreamKeys("tap-shop", "orders")

Known = Callable[[Manifest, str, int], bool]


def a_log(last: int = 0) -> Manifest:
    return grown(commit.new_manifest(KEYS, commit.new_commit("w")), last)


def grown(manifest: Manifest, by: int) -> Manifest:
    return msgspec.structs.replace(manifest, last_sequence=manifest.last_sequence + by)


def begun_anew(manifest: Manifest, up_to: int) -> Manifest:
    return continuation.begin_anew(manifest, commit.new_commit("w"), up_to)


class Model:
    """Every log by what each of its numbers stood for."""

    def __init__(self) -> None:
        self.manifest, self._tokens = a_log(), count()
        self.logs: dict[str, list[int]] = {self.manifest.log_id: []}
        self.givers: dict[int, str] = {}

    @property
    def now(self) -> list[int]:
        return self.logs[self.manifest.log_id]

    def grow(self, by: int) -> None:
        self.manifest = grown(self.manifest, by)
        self._give(by)

    def begin_anew(self, up_to: int) -> None:
        """Up to a number nothing changed; what the others stand for, nobody knows."""
        kept = self.now[:up_to]
        changed = len(self.now) - len(kept)
        self.manifest = begun_anew(self.manifest, len(kept))
        self.logs[self.manifest.log_id] = kept
        self._give(changed)

    def _give(self, numbers: int) -> None:
        for _ in range(numbers):
            token = next(self._tokens)
            self.now.append(token)
            self.givers[token] = self.manifest.log_id

    def require_exact(self, known: Known) -> None:
        for log_id, tokens in self.logs.items():
            for number in range(1, len(tokens) + 1):
                is_true = tokens[:number] == self.now[:number]
                assert known(self.manifest, log_id, number) is is_true, (log_id, number)

    def require_origins(self) -> None:
        for number, token in enumerate(self.now, start=1):
            assert continuation.origin_log_id(self.manifest, number) == self.givers[token]


steps = st.lists(st.tuples(st.sampled_from(["grow", "begin_anew"]), st.integers(0, 6)), max_size=12)


def lived(life: list[tuple[str, int]]) -> Model:
    model = Model()
    for step, number in life:
        getattr(model, step)(number)
    return model


@given(steps)
def test_a_place_is_known_where_all_up_to_it_is_what_it_was(life: list[tuple[str, int]]) -> None:
    lived(life).require_exact(continuation.is_known)


@given(steps)
def test_the_origin_of_a_number_is_the_log_that_gave_it_out(life: list[tuple[str, int]]) -> None:
    lived(life).require_origins()


def _any_place(manifest: Manifest, log_id: str, sequence: int) -> bool:
    """Takes every bookmark of a log that this one continues, however far it has read."""
    return continuation.common(manifest, log_id) != 0


def _newest_only(manifest: Manifest, log_id: str, sequence: int) -> bool:
    """Takes no bookmark of a log that was begun anew twice."""
    newest = msgspec.structs.replace(manifest, continues=manifest.continues[:1])
    return continuation.is_known(newest, log_id, sequence)


TWICE = [("grow", 5), ("begin_anew", 4), ("grow", 2), ("begin_anew", 2), ("grow", 3)]


@pytest.mark.parametrize("known", [_any_place, _newest_only], ids=lambda known: known.__name__)
def test_the_model_sees_a_reader_that_takes_other_places(known: Known) -> None:
    model = lived(TWICE)
    model.require_exact(continuation.is_known)
    with pytest.raises(AssertionError):
        model.require_exact(known)


def test_what_a_log_continues_is_cut_and_outlives_its_document() -> None:
    first = a_log(80)
    second = grown(begun_anew(first, 50), 30)
    third = manifests.decode(manifests.encode(begun_anew(second, 40)), "here")
    assert third.continues == (
        Continued(log_id=second.log_id, up_to=40),
        Continued(log_id=first.log_id, up_to=40),
    )
    assert continuation.is_known(third, third.log_id, 10_000)
    assert continuation.is_known(third, first.log_id, 40)
    assert not continuation.is_known(third, first.log_id, 41)


def test_a_log_that_agrees_on_nothing_continues_nothing() -> None:
    manifest = begun_anew(begun_anew(a_log(3), 2), 0)
    assert manifest.continues == ()


@pytest.mark.parametrize("up_to", [-1, 4])
def test_a_log_does_not_continue_what_it_does_not_have(up_to: int) -> None:
    with pytest.raises(ValueError, match="of 3 numbers"):
        begun_anew(a_log(3), up_to)
