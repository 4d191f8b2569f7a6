"""Overlays and what is under them, what declarative files put there, sources asked anew."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "overlays",
        sa.Column("home_group", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "declarations",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "asked",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
    )
    op.add_column("versions", sa.Column("under", sa.Text, nullable=False, server_default=""))
