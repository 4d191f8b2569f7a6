"""The catalogue: immutable versions, heads, statuses, allocated names, change rows."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


KEY = ["home_group", "name", "major", "minor", "patch"]


def _version_key() -> list["sa.Column[str] | sa.Column[int]"]:
    return [
        sa.Column("home_group", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("major", sa.Integer, primary_key=True),
        sa.Column("minor", sa.Integer, primary_key=True),
        sa.Column("patch", sa.Integer, primary_key=True),
    ]


def upgrade() -> None:
    op.create_table(
        "head",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("trimmed_to", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "sources",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("home_group", sa.Text, nullable=False),
    )
    op.create_table(
        "published_names",
        sa.Column("published_name", sa.Text, primary_key=True),
        sa.Column("home_group", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.UniqueConstraint("home_group", "name"),
    )
    op.create_table(
        "tools",
        sa.Column("home_group", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("head_version", sa.Text),
        sa.ForeignKeyConstraint(
            ["home_group", "name"], ["published_names.home_group", "published_names.name"]
        ),
    )
    op.create_table(
        "versions",
        *_version_key(),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("upstream_name", sa.Text, nullable=False),
        sa.Column("contract", sa.Text, nullable=False),
        sa.Column("raw", sa.Text, nullable=False),
        sa.Column("repairs", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("added_in", sa.BigInteger, nullable=False, index=True),
        sa.ForeignKeyConstraint(["home_group", "name"], ["tools.home_group", "tools.name"]),
    )
    op.create_table(
        "statuses",
        *_version_key(),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("since", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(KEY, [f"versions.{column}" for column in KEY]),
    )
    op.create_table(
        "groups",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "memberships",
        sa.Column("group_name", sa.Text, sa.ForeignKey("groups.name"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("home_group", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
    )
    op.create_table(
        "quarantine",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "changes",
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
    )
    op.create_table(
        "source_states",
        sa.Column("crib", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("heartbeat", sa.Float, nullable=False),
    )
    op.execute("INSERT INTO head (id, revision, trimmed_to) VALUES (1, 0, 0)")
