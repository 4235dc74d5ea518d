"""The Python client of Brain's HTTP API.

with Brain() as brain:
    session = brain.create({"harness": "pi", "config": {"model": "demo/script"}})
    for event in session.run("hello"):
        print(event["type"])

`AsyncBrain` does the same for asyncio.
"""

from brain_client.aio.brain import AsyncBrain
from brain_client.aio.session import AsyncSession
from brain_client.errors import BrainError, BrainTimeout, BrainUnavailable, TurnFailed
from brain_client.sync.brain import Brain
from brain_client.sync.session import Session
from brain_client.types import image, text, text_of

__all__ = [
    "AsyncBrain",
    "AsyncSession",
    "Brain",
    "BrainError",
    "BrainTimeout",
    "BrainUnavailable",
    "Session",
    "TurnFailed",
    "image",
    "text",
    "text_of",
]
