"""Runs a script of `inside` to its end, and gives what it answers. Above: `jobs`, `tools`."""

import secrets
from collections.abc import Mapping

from sandbox import inside
from sandbox.inside import EMBEDDED_BYTES, NOTHING, Input, Refusal
from sandbox.provider import STATE, Lost, Provider, Stream

_MOST_BYTES = 8 * 1024 * 1024


async def answer(
    provider: Provider,
    sandbox: str,
    name: str,
    values: Mapping[str, str],
    given: Input = NOTHING,
) -> bytes:
    """What a script writes. Raises: Refusal, Refused, Gone, Lost."""
    word = secrets.token_hex(8)
    out, err = bytearray(), bytearray()

    async def hear(stream: Stream, piece: bytes) -> None:
        heard = out if stream == "stdout" else err
        heard.extend(piece[: _MOST_BYTES - len(heard)])

    text = inside.script(name, provider.workspace, word, given.define, **values)
    code = await provider.execute(sandbox, text, hear)
    said = err.decode(errors="replace")
    if (why := inside.refusal(word, code, said)) is not None:
        raise Refusal(why)
    if code != 0:
        raise Lost(f"{name} ended with {code}: {said[-500:]}")
    return bytes(out)


async def feed(provider: Provider, sandbox: str, data: bytes) -> Input:
    """Make bytes ready for a script: as a part of it, or in a file if they are many."""
    if not data:
        return NOTHING
    if len(data) <= EMBEDDED_BYTES:
        return inside.embedded(data)
    path = f"{STATE}/input/{secrets.token_hex(8)}"
    await provider.upload(sandbox, path, data)
    return inside.uploaded(path)
