"""Logs that are begun anew, as a repair begins them: shared by the tests of who reads them."""

from __future__ import annotations

import msgspec

from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.lake import commit, continuation, log
from singerlake.store import Store
from tests.lake.landing import KEYS


def begin_anew(store: Store, up_to: int, keys: StreamKeys = KEYS) -> None:
    """The log goes on from the one that is there up to a number, and the rows behind it are gone.

    `up_to` has to be the number of a plain file that is in the manifest itself, or 0.
    """
    head = log.read_head(store, keys)
    anew = continuation.begin_anew(head.manifest, commit.new_commit("mender"), up_to)
    files = tuple(file for file in anew.files if file.sequence <= up_to)
    anew = msgspec.structs.replace(anew, files=files, last_sequence=up_to)
    store.replace(keys.manifest, manifests.encode(anew), head.version)
