"""The operators' page: files as they are, with no build step. Above: `routes`.

Its policy lets it load nothing but its own files, and lets no script make HTML of a text
(`require-trusted-types-for`), so that what an agent wrote is never more than text.
"""

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

_FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/page.js": ("page.js", "text/javascript"),
    "/card.js": ("card.js", "text/javascript"),
    "/text.js": ("text.js", "text/javascript"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


def routes() -> list[BaseRoute]:
    """A route for each file. They hold no data and need no key."""
    return [_route(path, name, kind) for path, (name, kind) in _FILES.items()]


def _route(path: str, name: str, kind: str) -> Route:
    body = files(__name__).joinpath(name).read_bytes()

    async def give(_request: Request) -> Response:
        return Response(body, headers=HEADERS, media_type=kind)

    return Route(path, give, methods=["GET"])
