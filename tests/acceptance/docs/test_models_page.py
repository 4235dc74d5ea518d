"""`docs/how-to/models.md` is true: each config passes the check and plays a whole turn."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brain.cli.advice import ADVICE
from brain.config.providers import PROVIDERS
from brain.engine.harness.pi.summary import BAD_SUMMARY
from brain.engine.harness.protocol import INTERNAL_ERROR
from brain.engine.model.failures import Code
from brain.engine.model.pricing import shipped
from brain_testing.api import Api
from brain_testing.commands import BIN, clean_env, finished
from brain_testing.desk import Desk, DeskCall
from brain_testing.model_server import KEY, Call, ModelServer, Say, model_server
from brain_testing.plugin import StartBrain
from brain_testing.running import RunningBrain

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/models.md"
BRAIN = str(BIN / "brain")
SECTIONS = dict(section.split("\n", 1) for section in PAGE.read_text("utf-8").split("\n## ")[1:])
Json = dict[str, Any]


class Snippet(NamedTuple):
    """A config of the page, and the `brain chat` that goes with it, if one does."""

    section: str
    document: Json
    chat: str | None

    @property
    def provider(self) -> Json:
        (entry,) = self.document["models"]
        return {**PROVIDERS[entry["provider"]]._asdict(), **entry} if known(entry) else entry


def known(entry: Json) -> bool:
    return entry["provider"] in PROVIDERS


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


def snippets() -> list[Any]:
    found: list[Any] = []
    for section in SECTIONS:
        chats = [block.strip() for block in blocks(section, "sh") if "brain chat" in block]
        for index, text in enumerate(blocks(section, "json")):
            chat = chats[0] if index == 0 and chats else None
            found.append(
                pytest.param(Snippet(section, json.loads(text), chat), id=f"{section}-{index}")
            )
    return found


SNIPPETS = snippets()
WITH_CHAT = [each for each in SNIPPETS if each.values[0].chat]


def test_the_five_providers_have_a_config_and_a_chat_each() -> None:
    assert {each.values[0].section for each in WITH_CHAT} >= {
        "OpenAI",
        "Anthropic",
        "OpenRouter",
        "Ollama",
        "vLLM",
    }


@pytest.mark.parametrize("snippet", SNIPPETS)
async def test_every_config_passes_the_check(snippet: Snippet, tmp_path: Path) -> None:
    path = tmp_path / "brain.json"
    path.write_text(json.dumps(snippet.document))
    keys = {"BRAIN_API_KEY": "a-key-of-brain-itself"}
    if snippet.provider["api_key_env"] is not None:
        keys[snippet.provider["api_key_env"]] = KEY
    env = clean_env(**keys)
    code, said = await finished(BRAIN, "-config", str(path), "-check", folder=tmp_path, env=env)

    assert code == 0, said


async def ask(call: DeskCall) -> None:
    call.say("4")


async def start(
    start_brain: StartBrain, desk: Desk, server: ModelServer, snippet: Snippet
) -> RunningBrain:
    """A Brain with the page's provider; only its address, and a key if it has none, are ours."""
    entry = snippet.provider
    ours = server.provider(entry["api"])
    variable = entry["api_key_env"] or ours["api_key_env"]
    (asked,) = snippet.document["models"]
    return await start_brain(
        tools=[desk.binding("ask", ask)],
        env={variable: KEY},
        extra={"models": [{**asked, "base_url": ours["base_url"], "api_key_env": variable}]},
    )


@pytest.mark.parametrize("snippet", WITH_CHAT)
async def test_every_chat_has_a_whole_turn_with_its_config(
    snippet: Snippet, start_brain: StartBrain, desk: Desk, tmp_path: Path
) -> None:
    async with model_server((Call("ask", '{"n":2}'),), (Say("It is four."),)) as server:
        brain = await start(start_brain, desk, server, snippet)
        env = clean_env(BRAIN_URL=brain.url, BRAIN_API_KEY=brain.key, PATH=f"{BIN}:/usr/bin:/bin")
        chat = f"echo 'Twice two?' | {snippet.chat}"
        code, said = await finished("sh", "-c", chat, folder=tmp_path, env=env)

    assert not server.refused
    assert (code, said.splitlines()) == (0, ['→ ask {"n": 2}', "← ask: 4", "It is four."])
    asked = server.requests[0]
    assert asked.dialect == snippet.provider["api"]
    _, _, model = re.findall(r"--model (\S+)", snippet.chat or "")[0].partition("/")
    assert asked.body["model"] == model
    for name, value in snippet.provider.get("headers", {}).items():
        assert asked.headers[name.lower()] == value


async def test_prices_and_windows_are_taken_from_the_config(
    start_brain: StartBrain, desk: Desk, connect: Any
) -> None:
    (param,) = [each for each in SNIPPETS if each.values[0].section.startswith("Windows")]
    async with model_server() as server:
        brain = await start(start_brain, desk, server, param.values[0])
        api: Api = connect(brain)
        session = await api.create(model="openai/ft:gpt-4.1-mini:acme::Ab12")
        await api.turn(session, "Hi")
    usage = (await api.session(session))["usage"]
    assert usage["cost_usd"] == pytest.approx((10 * 0.8 + 5 * 3.2) / 1_000_000)


async def test_a_key_alone_is_enough(start_brain: StartBrain, connect: Any) -> None:
    brain = await start_brain(env={"OPENAI_API_KEY": KEY})
    catalog = (await connect(brain).http.get("/catalog")).json()

    assert {"id": "openai/*"} in catalog["models"]


def test_every_known_provider_is_on_the_page_with_its_key() -> None:
    page = PAGE.read_text("utf-8")
    rows = dict(
        re.findall(
            r"^\| `([a-z]+)` \| (\S+?)(?:;.*)? \|", SECTIONS["Other providers"], re.MULTILINE
        )
    )
    for name, provider in PROVIDERS.items():
        if name in rows:
            assert rows[name].strip("`;") == (provider.api_key_env or "none")
        else:
            assert f'"provider": "{name}"' in page
            assert provider.api_key_env is None or f"`{provider.api_key_env}`" in page


def test_every_way_to_fail_is_on_the_page() -> None:
    firsts = re.findall(r"^\| (`.*?) \|", SECTIONS["When it fails"], re.MULTILINE)
    codes = {code for first in firsts for code in re.findall(r"`(\w+)`", first)} - {"code"}

    ours = {"model_unavailable", BAD_SUMMARY, INTERNAL_ERROR.code}
    assert codes == {*map(str, Code), *ours}
    assert ADVICE.keys() - codes == {"recovery_limit"}


def test_models_that_stand_for_known_ones_are_known() -> None:
    for model in ("openai/gpt-4.1-mini", "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5"):
        assert model in PAGE.read_text("utf-8")
        assert shipped().window(model) is not None
