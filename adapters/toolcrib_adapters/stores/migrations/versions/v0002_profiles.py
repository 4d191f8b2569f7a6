"""Profiles: what one kind of client sees."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "profiles",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
