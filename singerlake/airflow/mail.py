"""The table of awaited events by mail: as a task, and when a task or a run ends."""

from __future__ import annotations

from typing import Any

from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.providers.smtp.operators.smtp import EmailOperator

from singerlake.airflow import table
from singerlake.airflow.tab import page

_OF = "(ti | default(dag_run | default(none), true))"
"""A callback of a task has no run, and one of a run has no task."""

SUBJECT = f"Awaited events of {{{{ {_OF}.dag_id }}}} {{{{ {_OF}.run_id }}}}"


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
    run = context.get("ti") or context["dag_run"]
    wanted: list[str | None] = [*task_ids] if task_ids else [None]
    found = [table.rows_of_run(run.dag_id, run.run_id, task_id) for task_id in wanted]
    return page.table([row for rows in found for row in rows])
