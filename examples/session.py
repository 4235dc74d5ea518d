"""Open a session that may use the tools of BRAIN_TOOLS, send it a message, show what happens.

BRAIN_TOOLS=echo,request_approval python examples/session.py
"""

import asyncio
import json
import os
import sys

from brain_client import AsyncBrain

TOOLS = [name for name in os.environ.get("BRAIN_TOOLS", "echo").split(",") if name]
MODEL = os.environ.get("BRAIN_MODEL", "demo/script")
# The demo model turns each line `/call NAME JSON` into a tool call. For a real model, say what you
# want in your own words: python examples/session.py "Ask for approval to send the report."
CALLS = {
    "echo": '/call echo {"text":"hello"}',
    "request_approval": '/call request_approval {"action":"Send the weekly report",'
    '"details":"To 1,200 customers, today."}',
}
MESSAGE = " ".join(sys.argv[1:]) or "\n".join(CALLS[name] for name in TOOLS if name in CALLS)


async def main() -> None:
    async with AsyncBrain() as brain:  # BRAIN_URL and BRAIN_API_KEY say where and who
        session = await brain.create({"harness": "pi", "config": {"model": MODEL, "tools": TOOLS}})
        print("session", session.id)
        async for event in session.run(MESSAGE):
            show(event["type"], event["data"])


def show(kind: str, data: dict) -> None:
    if kind == "tool.call":
        print("calls", data["name"], json.dumps(data["arguments"]))
    elif kind == "tool.progress":
        print("  ...", json.dumps(data["progress"]))
    elif kind == "tool.result":
        print("failed" if data["is_error"] else "result", text_of(data))
    elif kind == "message.assistant" and text_of(data):
        print("says", text_of(data))


def text_of(data: dict) -> str:
    return "".join(block["text"] for block in data["content"] if block["type"] == "text")


asyncio.run(main())
