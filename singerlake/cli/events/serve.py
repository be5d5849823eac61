"""`singerlake events serve`: posts of events, over HTTP."""

from __future__ import annotations

from singerlake.cli.events.database import PACKAGES, database_option, open_waits
from singerlake.cli.extra import extra_module
from singerlake.cli.service import PACKAGES as HTTP_PACKAGES
from singerlake.cli.service import ServiceOptions, listen_options, service_command
from singerlake.metrics import Metrics


@service_command("EVENTS")
@database_option
@listen_options("127.0.0.1:8080")
def serve(database: str | None, service: ServiceOptions) -> None:
    """Take posts of events over HTTP.

    `POST /events/NAME` answers 201 once the post is safe in the database, and 200 for a repeat,
    which has an id that came before: in the header Idempotency-Key, or as `id` in its JSON. Waits
    find the post by its own `time`, also when they start later.

    \b
    Examples:
      singerlake events serve --listen 127.0.0.1:8080
      singerlake events serve --token-file token --database postgresql://host/waits
      curl -X POST http://127.0.0.1:8080/events/partner-file -d '{"id": "7"}'
    """
    packages = PACKAGES | HTTP_PACKAGES
    app = extra_module("wait.receiver", "wait", packages).receiver(
        open_waits(database).inbox(), service.limits
    )
    metrics = Metrics.create()
    made = extra_module("http.service", "wait", packages).Service(
        app, service.limits, token=service.token, metrics=metrics
    )
    with service.pushing(metrics):
        service.run(made)
