"""One record a call, what was captured of some, and who looks after the database."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_records",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_index("call_records_began", "call_records", ["began"])
    op.create_index("call_records_tool", "call_records", ["tool", "began"])
    op.create_table(
        "captures",
        sa.Column("call", sa.Text, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("captures_at", "captures", ["at"])
    op.create_table(
        "chores",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
