"""Limits that hold over processes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "limit_books",
        sa.Column("gate", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "limit_boards",
        sa.Column("crib", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
