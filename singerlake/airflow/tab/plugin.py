"""The plugin: a tab "Awaited events" on runs and tasks, and an address for posts."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

PREFIX = "/singerlake"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Loaded by the first request: every process of Airflow loads its plugins."""
    from singerlake.airflow.tab.app import app

    await app(scope, receive, send)


class SingerlakePlugin(AirflowPlugin):
    name = "singerlake"
    fastapi_apps = [  # noqa: RUF012
        {"app": _app, "url_prefix": PREFIX, "name": "Singerlake"}
    ]
    external_views = [  # noqa: RUF012
        {
            "name": "Awaited events",
            "href": f"{PREFIX}/awaited/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "awaited_events_of_run",
        },
        {
            "name": "Awaited events",
            "href": f"{PREFIX}/awaited/{{DAG_ID}}/{{RUN_ID}}/{{TASK_ID}}",
            "destination": "task_instance",
            "url_route": "awaited_events_of_task",
        },
    ]
