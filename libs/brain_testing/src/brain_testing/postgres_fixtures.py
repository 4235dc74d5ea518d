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
async def postgres_url(postgres_server: PostgresServer) -> str:
    """A database of this test's own, in which no session has been made yet."""
    if not await postgres_server.has_database(_TEMPLATE):
        await postgres_server.execute(f"CREATE DATABASE {_TEMPLATE}")
        await (await open_postgres(postgres_server.url(_TEMPLATE), "")).close()
    return postgres_server.url(await postgres_server.database(_TEMPLATE))
