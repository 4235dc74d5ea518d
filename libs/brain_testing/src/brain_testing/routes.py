"""Every route of the HTTP API that needs a key, with a request that would be good there.

Above: tests that go through all routes. Below: nothing.
"""

from collections.abc import Mapping
from typing import Any

import httpx2
from msgspec import Struct

Json = dict[str, Any]


class Route(Struct, frozen=True):
    """A request; `path` may hold `{session_id}` and `{message_id}`."""

    name: str
    method: str
    path: str
    body: Json | None = None
    headers: Mapping[str, str] = {}

    async def call(
        self,
        http: httpx2.AsyncClient,
        session_id: str,
        message_id: str = "msg_0",
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """The answer to this request; only for routes whose answer ends."""
        path = self.path.format(session_id=session_id, message_id=message_id)
        return await http.request(
            self.method, path, json=self.body, headers={**self.headers, **(headers or {})}
        )


_CREATE = {"harness": "pi", "config": {"model": "demo/script"}}

OF_NO_SESSION = (
    Route("catalog", "GET", "/catalog"),
    Route("create", "POST", "/sessions", _CREATE),
    Route("list", "GET", "/sessions"),
    Route("usage", "GET", "/usage"),
)
OF_A_SESSION = (
    Route("read", "GET", "/sessions/{session_id}"),
    Route("send", "POST", "/sessions/{session_id}/messages", {"content": "hi"}),
    Route("queue", "GET", "/sessions/{session_id}/messages?status=queued"),
    Route("withdraw", "DELETE", "/sessions/{session_id}/messages/{message_id}"),
    Route("events", "GET", "/sessions/{session_id}/events"),
    Route(
        "stream",
        "GET",
        "/sessions/{session_id}/events?until=idle",
        headers={"Accept": "text/event-stream"},
    ),
    Route("interrupt", "POST", "/sessions/{session_id}/interrupt", {}),
    Route("compact", "POST", "/sessions/{session_id}/compact", {}),
    Route("close", "POST", "/sessions/{session_id}/close", {}),
    Route("delete", "DELETE", "/sessions/{session_id}"),
)
ALL = OF_NO_SESSION + OF_A_SESSION
