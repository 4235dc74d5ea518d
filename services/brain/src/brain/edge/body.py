"""Request bodies: JSON of bounded size, read strictly.

Above: routes. Below: `validation`. Wrong media type 415, too large 413, not JSON 400, JSON that
isn't what the route takes 422.
"""

from typing import NamedTuple, TypeVar

import msgspec
from pydantic import BaseModel
from starlette.requests import Request

from brain.edge.problems import ProblemError, problem
from brain.edge.validation import validate

_Model = TypeVar("_Model", bound=BaseModel)


class Body(NamedTuple):
    """A body and what it says."""

    raw: bytes
    value: object


async def read_optional_model(request: Request, model: type[_Model], limit: int) -> _Model:
    """The body as `model`; no body at all is the same as `{}`."""
    raw = await _read(request, limit)
    if not raw:
        return validate(model, {})
    _check_media_type(request)
    return validate(model, _decode(raw))


async def read_json(request: Request, limit: int) -> Body:
    """The body, of at most `limit` bytes."""
    _check_media_type(request)
    raw = await _read(request, limit)
    return Body(raw, _decode(raw))


def _check_media_type(request: Request) -> None:
    media_type, *parameters = request.headers.get("content-type", "").lower().split(";")
    charset = _charset(parameters)
    encoding = request.headers.get("content-encoding", "identity")
    if (
        media_type.strip() != "application/json"
        or charset not in {"utf-8", "utf8", "us-ascii"}
        or encoding != "identity"
    ):
        detail = "The body must be JSON: `Content-Type: application/json`, UTF-8, not compressed."
        raise ProblemError(problem(415, detail))


def _charset(parameters: list[str]) -> str:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return value.strip().strip('"')
    return "utf-8"


async def _read(request: Request, limit: int) -> bytes:
    if _announced(request) > limit:
        raise too_large(limit)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _announced(request: Request) -> int:
    """The length that the client says the body has; 0 if it says nothing of use."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def too_large(limit: int) -> ProblemError:
    """What to raise for a body of more than `limit` bytes."""
    return ProblemError(problem(413, f"The body may have {limit} bytes at most."))


def _decode(raw: bytes) -> object:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        detail = "it is nested too deeply."
    except msgspec.DecodeError as error:
        detail = f"{error}."
    raise ProblemError(problem(400, f"The body is not valid JSON: {detail}"))
