"""`brain chat`: a session in the terminal. Below: `connect`, `conversation`, `say`."""

import argparse
import os
import sys
from typing import Any

from brain.cli.called import brain_command
from brain.cli.connect import NoAccess, find_session, with_brain
from brain.cli.conversation import Conversation
from brain.cli.lines import Lines
from brain.cli.say import JsonTeller, Listener, Teller
from brain_client import AsyncBrain, AsyncSession, BrainError

_DEMO = "demo/script"
_HINT = 'The demo model says back what you say. /call echo {"text":"hello"} calls a tool.'
_NO_MODEL = (
    "A model is PROVIDER/NAME, and a provider is there once its key is set where Brain is started, "
    "or the host config names it."
)
_OF_NEW_SESSIONS = ("model", "tools", "system", "thinking")


def chat(given: argparse.Namespace) -> int:
    """Talk until the input ends; gives the exit code."""
    clash = [name for name in _OF_NEW_SESSIONS if getattr(given, name) is not None]
    if given.session and clash:
        print(
            f"brain chat: --{clash[0]} is for a new session; --session goes on with one as it is.",
            file=sys.stderr,
        )
        return 2

    async def talk(brain: AsyncBrain) -> int:
        session = await _session(brain, given)
        lines = Lines()
        if not lines.interactive or given.json:
            return await Conversation(session, lines, lambda: _listener(given)).run()
        return await _at_a_terminal(brain, session, lines, given)

    return with_brain(given, talk)


async def _session(brain: AsyncBrain, given: argparse.Namespace) -> AsyncSession:
    if given.session:
        session = await find_session(brain, given.session)
        if session.data["status"] == "closed":
            raise NoAccess(f"{session.id} is closed. To read it: brain events {session.id}")
        return session
    if given.tools is None:
        tools = [tool["name"] for tool in (await brain.catalog())["tools"]]
    else:
        tools = [name.strip() for name in given.tools.split(",") if name.strip()]
    config: dict[str, Any] = {"model": given.model or _DEMO, "tools": tools}
    if given.system is not None:
        config["system_prompt"] = given.system
    if given.thinking is not None:
        config["thinking"] = given.thinking
    try:
        return await brain.create({"harness": "pi", "config": config})
    except BrainError as error:
        if any(each.get("pointer") == "/config/model" for each in error.problem.get("errors", ())):
            raise NoAccess(f"{error} {_NO_MODEL}") from None
        raise


async def _at_a_terminal(
    brain: AsyncBrain, session: AsyncSession, lines: Lines, given: argparse.Namespace
) -> int:
    model = session.data["config"]["model"]
    print(f"Session {session.id}, model {model}. Ctrl-D ends the chat, /help says what else.")
    if model == _DEMO:
        print(_HINT)
        await _tell_of_real_models(brain)
    conversation = Conversation(session, lines, lambda: _listener(given))
    code = await conversation.run()
    if conversation.talked:
        where = ("--url", given.url) if given.url else ()
        print(f"To go on: {brain_command('chat', given.home, *where, '--session', session.id)}")
    return code


async def _tell_of_real_models(brain: AsyncBrain) -> None:
    ids = [model["id"] for model in (await brain.catalog())["models"]]
    others = [f"--model {ident.replace('*', 'NAME')}" for ident in ids if ident != _DEMO]
    if others:
        print(f"Real models: {', '.join(others)}.")
    else:
        print("For real models, set a key (OPENAI_API_KEY, say) where Brain is started.")


def _listener(given: argparse.Namespace) -> Listener:
    if given.json:
        return JsonTeller(sys.stdout)
    return Teller(sys.stdout, thinking=not given.hide_thinking and _shows_dim())


def _shows_dim() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
