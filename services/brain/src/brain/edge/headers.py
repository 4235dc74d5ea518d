"""Headers that every answer carries. Above: the app, `http`. Below: nothing."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_DEFAULTS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


class HeadersMiddleware:
    """Adds the headers that keep browsers and caches from misreading an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_defaults(list(message["headers"]))
            await send(message)

        return await self._app(scope, receive, sender)


def with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """These headers, and those that every answer carries."""
    present = {name for name, _ in headers}
    return headers + _SECURITY + [pair for pair in _DEFAULTS if pair[0] not in present]
