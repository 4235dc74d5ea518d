"""A provider that answers at once, in all three formats. Above: `model_stream`.

The path says how many deltas the answer has: `/13/v1/chat/completions`. Each delta is sent by
itself, as a provider does.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator

_WORD = " word"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _serve(port: int) -> None:
    server = await asyncio.start_server(_accepted, "127.0.0.1", port)
    await server.serve_forever()


async def _accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            await _answer(reader, writer)
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    await reader.readexactly(length)
    path = head.split(b" ")[1].decode()
    if path == "/healthz":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return
    _, deltas, rest = path.split("/", 2)
    writer.write(_HEAD)
    for event in _FORMATS[rest](int(deltas)):
        data = event.encode()
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _chat(deltas: int) -> Iterator[str]:
    def chunk(choice: str, rest: str = "") -> str:
        return (
            'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",'
            f'"choices":[{choice}]{rest}}}\n\n'
        )

    for _ in range(deltas):
        yield chunk(f'{{"index":0,"delta":{{"content":"{_WORD}"}},"finish_reason":null}}')
    yield chunk('{"index":0,"delta":{},"finish_reason":"stop"}')
    usage = f'"prompt_tokens":10,"completion_tokens":{deltas},"total_tokens":{10 + deltas}'
    yield chunk("", f',"usage":{{{usage}}}')
    yield "data: [DONE]\n\n"


def _responses(deltas: int) -> Iterator[str]:
    def event(kind: str, fields: str) -> str:
        return f'event: {kind}\ndata: {{"type":"{kind}","sequence_number":1,{fields}}}\n\n'

    def response(status: str, rest: str) -> str:
        shape = '"id":"r","object":"response","created_at":1,"model":"m","tools":[],"output":[]'
        more = '"parallel_tool_calls":true,"tool_choice":"auto"'
        return f'"response":{{{shape},{more},"status":"{status}"{rest}}}'

    item = '"id":"msg","type":"message","role":"assistant","content":[]'
    place = '"item_id":"msg","output_index":0,"content_index":0,"logprobs":[]'
    yield event("response.created", response("in_progress", ""))
    yield event("response.output_item.added", f'"output_index":0,"item":{{{item}}}')
    for _ in range(deltas):
        yield event("response.output_text.delta", f'{place},"delta":"{_WORD}"')
    yield event("response.output_text.done", f'{place},"text":"{_WORD * deltas}"')
    yield event(
        "response.completed",
        response(
            "completed",
            f',"usage":{{"input_tokens":10,"input_tokens_details":{{"cached_tokens":0}},'
            f'"output_tokens":{deltas},"output_tokens_details":{{"reasoning_tokens":0}},'
            f'"total_tokens":{10 + deltas}}}',
        ),
    )


def _messages(deltas: int) -> Iterator[str]:
    def event(kind: str, fields: str = "") -> str:
        return f'event: {kind}\ndata: {{"type":"{kind}"{fields}}}\n\n'

    message = '"id":"msg","type":"message","role":"assistant","content":[],"model":"m"'
    usage = '"usage":{"input_tokens":10,"output_tokens":1}'
    yield event("message_start", f',"message":{{{message},"stop_reason":null,{usage}}}')
    yield event("content_block_start", ',"index":0,"content_block":{"type":"text","text":""}')
    for _ in range(deltas):
        text = f'"delta":{{"type":"text_delta","text":"{_WORD}"}}'
        yield event("content_block_delta", f',"index":0,{text}')
    yield event("content_block_stop", ',"index":0')
    stop = '"delta":{"stop_reason":"end_turn","stop_sequence":null}'
    yield event("message_delta", f',{stop},"usage":{{"output_tokens":{deltas}}}')
    yield event("message_stop")


_FORMATS: dict[str, Callable[[int], Iterator[str]]] = {
    "v1/chat/completions": _chat,
    "v1/responses": _responses,
    "v1/messages": _messages,
}


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
