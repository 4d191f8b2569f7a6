"""Rules for calls."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_rules",
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
