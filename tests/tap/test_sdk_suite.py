"""singer-sdk's own suites for taps, on a lake that was landed from the SDK's fixtures."""

from __future__ import annotations

from importlib.resources import files

from singer_sdk.testing import SuiteConfig, get_tap_test_class, target_test_streams

from tap_singerlake.tap import TapSingerlake
from tests.tap.replay import TAP_ID, config, land

FIXTURES = (
    "array_data",
    "camelcase",
    "encoded_string_data",
    "multiple_state_messages",
    "special_chars_in_attributes",
    "user_location_data",
)
"""Those whose records are valid, and whose keys are unique, as the suites require."""

ROOT = "memory://sdk-tap-suite"
for name in FIXTURES:
    # The suites ask for the streams while the tests are collected.
    lines = (files(target_test_streams) / f"{name}.singer").read_bytes().splitlines()
    land(ROOT, lines, tap_id=TAP_ID)

EVERY_RECORD = SuiteConfig(max_records_limit=None)

TestTap = get_tap_test_class(TapSingerlake, config=config(ROOT))
TestTapOnEveryRecord = get_tap_test_class(
    TapSingerlake, config=config(ROOT), suite_config=EVERY_RECORD
)
TestTapThatBuildsRecords = get_tap_test_class(
    TapSingerlake,
    config=config(ROOT, flattening_enabled=True, flattening_max_depth=0),
    suite_config=EVERY_RECORD,
)
