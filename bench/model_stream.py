"""CPU of reading a model's stream: Brain's dialects beside the official SDKs, over loopback.

Above: `make bench-models`. Below: `model_service`. Each reads the same answers of a provider in a
process of its own. What a delta costs is what an answer of many deltas costs more than one of few,
by the deltas that it has more.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import uvloop
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from bench.processes import DidNotStart, free_port, ready, running
from brain.config.check import CheckedConfig
from brain.config.host import HostConfig, ModelConfig
from brain.config.providers import Api
from brain.engine.model.protocol import Answer, Delta, Model, ModelRequest, UserTurn
from brain.engine.model.providers import build_models
from brain.engine.model.registry import ModelRegistry
from brain_core.content import TextBlock

FEW, MANY = 13, 213
_ROUNDS = 5
_REPOSITORY = Path(__file__).parents[1]
_REQUEST = ModelRequest("m", (UserTurn((TextBlock("Hi"),)),))
_PATHS: dict[Api, str] = {
    "openai-chat": "v1/chat/completions",
    "openai-responses": "v1/responses",
    "anthropic-messages": "v1/messages",
}
Read = Callable[[int], Awaitable[int]]
"""Reads an answer of so many deltas; gives how many came."""


class WrongAnswer(Exception):
    """A reader didn't get what was sent."""


def main() -> int:
    """Run once and print; 1 if an answer was read wrongly."""
    parser = argparse.ArgumentParser(prog="make bench-models", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only try that everything is measured")
    arguments = parser.parse_args()
    try:
        uvloop.run(_run(5 if arguments.quick else 100))
    except (DidNotStart, WrongAnswer, TimeoutError) as error:
        print(f"bench: {error or 'it took too long'}", file=sys.stderr)
        return 1
    return 0


async def _run(each: int) -> None:
    port = free_port()
    command = [sys.executable, "-m", "bench.model_service", str(port)]
    env = {**os.environ, "PYTHONPATH": str(_REPOSITORY)}
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        running(command, Path(folder), env) as service,
    ):
        await ready(service, port, "/healthz")
        models = _models(port)
        async with aiohttp.ClientSession() as session:
            print(f"{'CPU, µs':<34}{f'an answer of {FEW}':>16}{'a delta':>10}")
            for api in _PATHS:
                for name, read in _readers(api, port, models, session).items():
                    few, many = await _measured(read, each)
                    delta = (many - few) / (MANY - FEW)
                    print(f"{name:<34}{few * 1e6:>16.0f}{delta * 1e6:>10.1f}", flush=True)
        await models.aclose()


async def _measured(read: Read, each: int) -> tuple[float, float]:
    """Seconds of CPU for an answer of few deltas and one of many, in the best of some rounds."""
    best = {FEW: float("inf"), MANY: float("inf")}
    for _ in range(_ROUNDS):
        for deltas, times in ((FEW, each), (MANY, max(1, each // 10))):
            before = time.process_time()
            for _ in range(times):
                if await read(deltas) != deltas:
                    raise WrongAnswer(f"an answer of {deltas} deltas was read wrongly")
            best[deltas] = min(best[deltas], (time.process_time() - before) / times)
    return best[FEW], best[MANY]


def _models(port: int) -> ModelRegistry:
    """A provider for each format and length, all at the same server."""
    entries = [
        ModelConfig(
            provider=_provider(api, deltas),
            api=api,
            base_url=f"http://127.0.0.1:{port}/{deltas}/v1",
        )
        for api in _PATHS
        for deltas in (FEW, MANY)
    ]
    return build_models(CheckedConfig(HostConfig(), tuple(entries), {}, {}, {}, None))


def _provider(api: Api, deltas: int) -> str:
    return f"{api}-{deltas}"


def _readers(
    api: Api, port: int, models: ModelRegistry, session: aiohttp.ClientSession
) -> Mapping[str, Read]:
    base = f"http://127.0.0.1:{port}"

    async def brain(deltas: int) -> int:
        model = models.find(f"{_provider(api, deltas)}/m")
        assert model is not None
        return await _hear(model)

    async def bytes_alone(deltas: int) -> int:
        async with session.post(f"{base}/{deltas}/{_PATHS[api]}", data=b"{}") as response:
            async for _ in response.content.iter_any():
                pass
        return deltas

    sdk = {
        "openai-chat": _openai_chat,
        "openai-responses": _openai_responses,
        "anthropic-messages": _anthropic,
    }[api](base)
    package = "anthropic" if api == "anthropic-messages" else "openai"
    return {
        f"{api}, Brain": brain,
        f"{api}, package {package}": sdk,
        f"{api}, bytes alone": bytes_alone,
    }


async def _hear(model: Model) -> int:
    heard, answer = 0, None
    async for item in model.stream(_REQUEST):
        if isinstance(item, Delta):
            heard += 1
        else:
            answer = item
    if not isinstance(answer, Answer):
        raise WrongAnswer(str(answer))
    return heard


def _openai_chat(base: str) -> Read:
    clients = {n: AsyncOpenAI(base_url=f"{base}/{n}/v1", api_key="k") for n in (FEW, MANY)}

    async def read(deltas: int) -> int:
        stream = await clients[deltas].chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        heard = 0
        async for chunk in stream:
            heard += bool(chunk.choices and chunk.choices[0].delta.content)
        return heard

    return read


def _openai_responses(base: str) -> Read:
    clients = {n: AsyncOpenAI(base_url=f"{base}/{n}/v1", api_key="k") for n in (FEW, MANY)}

    async def read(deltas: int) -> int:
        stream = await clients[deltas].responses.create(model="m", input="Hi", stream=True)
        heard = 0
        async for event in stream:
            heard += event.type == "response.output_text.delta"
        return heard

    return read


def _anthropic(base: str) -> Read:
    clients = {n: AsyncAnthropic(base_url=f"{base}/{n}", api_key="k") for n in (FEW, MANY)}

    async def read(deltas: int) -> int:
        stream = await clients[deltas].messages.create(
            model="m", max_tokens=99, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        heard = 0
        async for event in stream:
            heard += event.type == "content_block_delta"
        return heard

    return read


if __name__ == "__main__":
    sys.exit(main())
