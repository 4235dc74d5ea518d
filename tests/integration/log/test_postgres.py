"""The event log on Postgres: the cases of every log, and what is its own in ordinary times."""

from collections.abc import AsyncGenerator

import pytest

from brain.engine.log.postgres import open_postgres
from brain.engine.log.protocol import EventLog
from brain_testing.log_cases import EventLogCases


@pytest.fixture
async def log(postgres_url: str) -> AsyncGenerator[EventLog]:
    opened = await open_postgres(postgres_url, "unix:/engine.sock")
    yield opened
    await opened.close()


class TestPostgres(EventLogCases):
    pass
