"""The first version: awaited events, and the inbox."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    name = sa.String(250)
    op.create_table(
        "singerlake_awaited",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("wait", name, nullable=False),
        sa.Column("window", name, nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("msg", sa.Text, nullable=False),
        sa.Column("source_type", name, nullable=False),
        sa.Column("frequency", sa.String(20), nullable=False),
        sa.Column("window_start", sa.DateTime),
        sa.Column("window_end", sa.DateTime),
        sa.Column("last_receive", sa.Text),
        sa.Column("last_receive_time", sa.DateTime),
        sa.Column("timeout", sa.DateTime),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("position", sa.Text),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("changed", sa.DateTime, nullable=False),
        sa.UniqueConstraint("wait", "window", "name", name="singerlake_awaited_once"),
    )
    op.create_table(
        "singerlake_inbox",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("post", name, nullable=False),
        sa.Column("id", name, nullable=False),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.Column("received", sa.DateTime, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("post", "id", name="singerlake_inbox_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("singerlake_inbox_time", "singerlake_inbox", ["post", "time"])
