"""`brain -config` as an operator runs it: a host config in a file, real processes.

Above: tests with servers that others wrote, and of the docs. Below: `commands`.
"""

import json
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from brain_testing.commands import BIN, answers, clean_env, free_ports, running

BRAIN = str(BIN / "brain")


@asynccontextmanager
async def brain_with_config(
    folder: Path, document: Mapping[str, Any], **env: str
) -> AsyncGenerator[dict[str, str]]:
    """A Brain with this host config in a file; gives the environment of its user.

    The address is its own, whatever the document says; the log and the socket are in the folder.
    """
    (port,) = free_ports(1)
    url, key = f"http://127.0.0.1:{port}", secrets.token_urlsafe(24)
    path = folder / "brain.json"
    path.write_text(json.dumps({**document, "listen": url[7:], "public_url": url}))
    server_env = clean_env(BRAIN_API_KEY=key, **env)
    async with running(BRAIN, "-config", str(path), folder=folder, env=server_env):
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            await answers(http, "/readyz")
        yield clean_env(BRAIN_URL=url, BRAIN_API_KEY=key)
