"""Object stores: bytes under keys, with conditional writes. See `Store` for the contract."""

from singerlake.store.base import Data, Finished, Listed, Promise, Store, Stored, Upload
from singerlake.store.counting import Counting
from singerlake.store.dry_run import DryRun
from singerlake.store.local import LocalStore
from singerlake.store.memory import MemoryStore
from singerlake.store.open import open_store
from singerlake.store.retrying import Retrying, RetryPolicy
from singerlake.store.time_limited import TimeLimited
from singerlake.store.trial import Answer, trial
from singerlake.store.wrapper import StoreWrapper

__all__ = [
    "Answer",
    "Counting",
    "Data",
    "DryRun",
    "Finished",
    "Listed",
    "LocalStore",
    "MemoryStore",
    "Promise",
    "RetryPolicy",
    "Retrying",
    "Store",
    "StoreWrapper",
    "Stored",
    "TimeLimited",
    "Upload",
    "open_store",
    "trial",
]
