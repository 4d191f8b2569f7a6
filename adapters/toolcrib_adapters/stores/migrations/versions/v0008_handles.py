"""Results that are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "handles",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("facts", sa.LargeBinary, nullable=False),
    )
    op.create_index("handles_expire", "handles", ["expires"])
    op.create_table(
        "handle_parts",
        sa.Column("handle", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("handle_parts_expire", "handle_parts", ["expires"])
