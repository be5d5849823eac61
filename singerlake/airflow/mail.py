"""The table of awaited events by mail: as a task, and when a task or a run ends."""

from __future__ import annotations

from typing import Any

from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.providers.smtp.operators.smtp import EmailOperator

from singerlake.airflow import page, table

SUBJECT = "Awaited events of {{ dag_run.dag_id }} {{ dag_run.run_id }}"


class StatusEmailOperator(EmailOperator):
    """Mails the table of the run, as it is when the task runs. What `EmailOperator` takes, it takes
    too, except the content.

    :param task_ids: only what these tasks, or groups of tasks, wait for.
    """

    def __init__(
        self, *, task_ids: list[str] | None = None, subject: str = SUBJECT, **kwargs: Any
    ) -> None:
        super().__init__(subject=subject, **kwargs)
        self.task_ids = task_ids

    def execute(self, context: Any) -> Any:
        # After templates are rendered: a name may look like one.
        self.html_content = content(context, self.task_ids)
        return super().execute(context)


class StatusNotifier(SmtpNotifier):
    """The same as a callback: `on_failure_callback=StatusNotifier(to="ops@example.com")`."""

    def __init__(self, to: Any, subject: str = SUBJECT, **kwargs: Any) -> None:
        super().__init__(to=to, subject=subject, **kwargs)

    def notify(self, context: Any) -> None:
        self.html_content = content(context)
        super().notify(context)


def content(context: Any, task_ids: list[str] | None = None) -> str:
    """HTML, escaped. Raises `Unavailable`."""
    run = context["dag_run"]
    return page.table(
        [
            row
            for task_id in task_ids or (None,)
            for row in table.rows_of_run(run.dag_id, run.run_id, task_id)
        ]
    )
