"""All that needs a real Airflow: one test, so that workers that share the tests start one Airflow.

An Airflow takes a minute of a processor to be healthy. The steps are in the modules `steps_…`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.airflow import steps_commits, steps_dag_test, steps_examples, steps_in_browser
from tests.airflow import steps_sensors as sensors
from tests.airflow.conftest import Ground

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def test_in_a_real_airflow(ground: Ground, tmp_path: Path) -> None:
    begun = sensors.begun(ground)
    sensors.a_sensor_waits_for_events_of_every_kind(ground, begun)
    sensors.at_the_deadline_the_missing_fail_and_are_named(ground, begun)
    sensors.a_group_that_needs_less_than_all(ground, begun)
    sensors.mapped_tasks_end_each_by_itself(ground, begun)
    sensors.fifty_waits_leave_a_pool_of_one_slot_free(ground)
    sensors.tasks_mark_events_for_others(ground)
    sensors.the_table_goes_out_by_mail_and_stays_text(ground, begun)
    sensors.the_tab_and_the_receiver_ask_who_it_is(ground, begun)
    steps_examples.the_morning_waits_for_its_events(ground)
    steps_examples.a_commit_starts_a_dag(ground)
    with steps_in_browser.chromium() as browser:
        steps_in_browser.the_grid_and_the_tab_show_what_is_missing(ground, browser)
    steps_dag_test.a_user_can_try_a_dag(ground, tmp_path)
    # The rest kills the triggerer.
    sensors.a_triggerer_that_dies_loses_no_event_and_moves_no_deadline(ground)
    steps_commits.every_commit_is_read_once_by_a_run_that_succeeds(ground)
    steps_commits.a_rebuild_is_named_and_a_run_can_begin_anew(ground)
