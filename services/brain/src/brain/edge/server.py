"""The edge under uvicorn. Above: the wiring, which decides when it stops. Below: `app`."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from brain.edge.app import end_streams


class EdgeServer(uvicorn.Server):
    """Runs until `should_exit` is set; leaves the process's signals alone."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._edge = app

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn waits for every answer to end, and an event stream ends only when it is told.
        end_streams(self._edge)
        await super().shutdown(sockets)
