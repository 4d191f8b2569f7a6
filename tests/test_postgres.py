"""The database that tests get: there, empty and of their own, or a clear word why not."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres import SERVER_VARIABLE, fresh_database, server_url


def test_a_test_has_an_empty_database_until_it_ends() -> None:
    with fresh_database() as url, psycopg.connect(url) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_missing_server_skips_at_a_desk_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVER_VARIABLE, raising=False)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=SERVER_VARIABLE):
        server_url()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match=SERVER_VARIABLE):
        server_url()
