"""The Python client of Brain's HTTP API.

async with AsyncBrain() as brain:
    session = await brain.create({"harness": "pi", "config": {"model": "demo/script"}})
    async for event in session.run("hello"):
        print(event["type"])
"""

from brain_client.aio import AsyncBrain, AsyncSession
from brain_client.errors import BrainError, BrainUnavailable

__all__ = ["AsyncBrain", "AsyncSession", "BrainError", "BrainUnavailable"]
