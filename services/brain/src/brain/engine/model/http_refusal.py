"""What an HTTP answer means that is no stream. Above: `http_stream`. Below: `provider_errors`."""

import aiohttp

from brain.engine.model.failures import Code, Secrets, failure
from brain.engine.model.patience import OutOfPatience, Patience
from brain.engine.model.protocol import Failure
from brain.engine.model.provider_errors import ProviderError, classify, read_error
from brain.engine.model.retry_after import retry_after

_MAX_ERROR_BYTES = 64 * 1024
_NO_STREAM = ("text/html", "application/json", "application/problem+json")


async def refusal(
    response: aiohttp.ClientResponse, secrets: Secrets, patience: Patience
) -> Failure | None:
    """Why there is no stream; None if there may be one."""
    status, kind = response.status, response.content_type.lower()
    if status == 200 and kind not in _NO_STREAM:
        return None
    if 300 <= status < 400:
        return failure(Code.BAD_STREAM, "It was a redirect, which is not followed.")
    said = ProviderError()
    if kind != "text/html":
        said = read_error(await _start_of_body(response, patience))
    if status < 400:
        return _no_error_status(said, kind, secrets)
    code = classify(said, status)
    after = retry_after(response.headers)
    return failure(
        code,
        f"The status was {status}.",
        said=said.text,
        secrets=secrets,
        retry_after=said.retry_after if after is None else after,
    )


def _no_error_status(said: ProviderError, kind: str, secrets: Secrets) -> Failure:
    """What came in place of a stream although the status tells of no error."""
    if kind == "text/html":
        return failure(Code.BAD_STREAM, "It was a web page.")
    if said.words or said.text:
        return failure(classify(said), said=said.text, secrets=secrets)
    return failure(Code.BAD_STREAM, "It was no stream.")


async def _start_of_body(response: aiohttp.ClientResponse, patience: Patience) -> bytes:
    """As much of the body as is looked at; what has come of one that breaks off."""
    body = bytearray()
    try:
        while len(body) < _MAX_ERROR_BYTES:
            chunk = await patience.wait(response.content.readany())
            if not chunk:
                break
            body += chunk
    except (aiohttp.ClientError, OSError, OutOfPatience):
        pass  # the status says enough
    return bytes(body[:_MAX_ERROR_BYTES])
