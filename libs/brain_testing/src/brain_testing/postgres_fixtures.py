"""pytest fixtures for tests on Postgres. Above: `plugin`. Below: `postgres`."""

from collections.abc import Iterator

import pytest

from brain.engine.log.postgres import open_postgres
from brain_testing.postgres import PostgresServer

_TEMPLATE = "brain_template"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the tests of this process, which is started by the first that wants it."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server of this test's own, which it may stop and start."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
async def postgres_database(postgres_server: PostgresServer) -> str:
    """A database of this test's own, in which no session has been made yet."""
    if not await postgres_server.has_database(_TEMPLATE):
        await postgres_server.execute(f"CREATE DATABASE {_TEMPLATE}")
        await (await open_postgres(postgres_server.url(_TEMPLATE), "")).close()
    return await postgres_server.database(_TEMPLATE)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_database: str) -> str:
    """The address of that database."""
    return postgres_server.url(postgres_database)
