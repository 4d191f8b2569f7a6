"""A fresh PostgreSQL database for a test, dropped when the test ends.

The server is named by `TOOLCRIB_TEST_POSTGRES`, the URL of a user who may create databases. Used by
the fixture `postgres_url`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER_VARIABLE: Final = "TOOLCRIB_TEST_POSTGRES"


def server_url() -> str:
    """The server to make databases on; skips the test where there is none, but fails it in CI."""
    url = os.environ.get(SERVER_VARIABLE)
    if url:
        return url
    reason = (
        f"needs PostgreSQL: set {SERVER_VARIABLE} to the URL of a user who may create databases"
    )
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def fresh_database() -> Iterator[str]:
    """The URL of an empty database that exists while the block runs."""
    server = server_url()
    name = f"toolcrib_test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        # A server set up without a locale would make databases without an encoding.
        create = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
        connection.execute(SQL(create).format(Identifier(name)))
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            # FORCE: a test may have killed a process whose connections the server has not missed
            # yet.
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
