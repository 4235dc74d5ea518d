"""Who is asking: an API key's tenant, or a tool service with an inspection token.

Above: `AuthMiddleware` stands before every route, so that none can forget it. Below: the engine,
which alone knows inspection tokens.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import grpc
from grpc.aio import AioRpcError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from brain.edge.engine_client import EngineClient
from brain.edge.problems import forbidden, unauthorized
from brainapi.session.v1.session_service_pb2 import ResolveInspectionTokenRequest

PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})
TOKEN_PREFIX = "insp_"  # noqa: S105 - what tokens begin with, not one of them

_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)
_READABLE = re.compile(r"/sessions/([!-.0-~]+)(?:/events)?")


@dataclass(frozen=True)
class Caller:
    """Who makes a request. With an `inspection_token` it only reads one session."""

    tenant_id: str
    inspection_token: str | None = None


class ApiKeys:
    """The keys of all tenants, as digests: no comparison tells anything about a key."""

    def __init__(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        self._tenants = [
            (_digest(key.encode()), tenant) for tenant, its_keys in keys.items() for key in its_keys
        ]

    def tenant_of(self, key: str) -> str | None:
        """The tenant of `key`, or None. Looks at every key, whichever is right."""
        given = _digest(key.encode("latin-1"))  # as header values were decoded
        found = None
        for digest, tenant in self._tenants:
            if hmac.compare_digest(digest, given):
                found = tenant
        return found


class AuthMiddleware:
    """Lets a request through with its `Caller` in `scope["state"]`, or ends it with 401 or 403."""

    def __init__(self, app: ASGIApp, keys: ApiKeys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PUBLIC_PATHS:
            scope.setdefault("state", {})["caller"] = await self._caller(scope)
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        token = _bearer(Headers(scope=scope).getlist("authorization"))
        if token is None:
            raise unauthorized()
        tenant = self._keys.tenant_of(token)
        if tenant is not None:
            return Caller(tenant)
        if not token.startswith(TOKEN_PREFIX):
            raise unauthorized()
        return await _inspector(scope, token)


async def _inspector(scope: Scope, token: str) -> Caller:
    wanted = _READABLE.fullmatch(scope["path"])
    asked = "" if wanted is None else wanted[1]
    resolved = await resolve(scope["app"].state.engine, token, asked)
    if resolved is None:
        raise unauthorized()
    tenant_id, session_id = resolved
    if scope["method"] != "GET" or wanted is None or wanted[1] != session_id:
        raise forbidden()
    return Caller(tenant_id, token)


async def resolve(engine: EngineClient, token: str, session_id: str) -> tuple[str, str] | None:
    """The tenant and session that an inspection token reads, None once its call has returned.

    `session_id` is the session that is to be read: the engine that has it knows the token.
    """
    request = ResolveInspectionTokenRequest(inspection_token=token, session_id=session_id)
    try:
        answer = await engine.call(lambda to: to.ResolveInspectionToken, request)
    except AioRpcError as error:
        if error.code() in {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.NOT_FOUND}:
            return None
        raise
    return answer.tenant_id, answer.session_id


def _bearer(values: Iterable[str]) -> str | None:
    """The token, if there is exactly one header and it has the right form."""
    matches = [_BEARER.fullmatch(value) for value in values]
    return matches[0][1] if len(matches) == 1 and matches[0] else None


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
