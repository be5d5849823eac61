"""Run by Alembic, on the connection that `singerlake.wait.status.database` hands over."""

from alembic import context

from singerlake.wait.status.table import METADATA

connection = context.config.attributes["connection"]
context.configure(connection, target_metadata=METADATA, version_table="singerlake_wait_version")
with context.begin_transaction():
    context.run_migrations()
