"""Every morning: wait for orders, customers and a partner's file, then make the report.

The lake is that of $SINGERLAKE_ROOT, posts and the table are in $SINGERLAKE_EVENTS_DATABASE.
"""

from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, CronTriggerTimetable, task

from singerlake.airflow import wait_for
from singerlake.wait import HttpEvent, LakeRun, Window

TODAY = Window("D", zone="Europe/Berlin", offset=-2 * 3600)  # from 22:00 of the day before

with DAG(
    "morning",
    schedule=CronTriggerTimetable("0 5 * * *", timezone="Europe/Berlin"),
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
):
    arrived = wait_for(
        [
            LakeRun(tap="tap-shop--sample", streams=("orders",), window=TODAY, name="orders"),
            LakeRun(tap="tap-shop--sample", streams=("customers",), window=TODAY, name="customers"),
            HttpEvent(post="partner-file", window=TODAY),
        ],
        deadline=timedelta(hours=3),  # after the run was due: 08:00
        group_id="arrived",
    )

    @task
    def report() -> str:
        return "the report of today"

    arrived >> report()
