"""The ledger of calls that change something."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("lease", sa.Float, nullable=False),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("answer", sa.LargeBinary),
        sa.Column("why", sa.Text, nullable=False, server_default=""),
    )
    # Entries without a key do not stand in each other's way: nulls differ.
    op.create_index("ledger_keys", "ledger", ["caller", "key"], unique=True)
    op.create_index("ledger_ended", "ledger", ["state", "ended"])
