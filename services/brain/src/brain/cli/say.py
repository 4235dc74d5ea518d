"""A turn's events as lines of text, or as JSON. Above: `chat`, `conversation`. Below: `plain`."""

import json
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from brain.cli.advice import advice
from brain.cli.plain import plain
from brain_client.types import Event

Json = dict[str, Any]
_MAX_SHOWN = 2000
_DIM, _END = "\x1b[2m", "\x1b[0m"


class Listener(Protocol):
    """Takes one turn's events. `completed` says whether it came to its end."""

    completed: bool

    def tell(self, event: Event) -> None: ...


class JsonTeller:
    """Prints every event as a line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self.completed = False
        self._out = out

    def tell(self, event: Event) -> None:
        """Print it."""
        self.completed = self.completed or event["type"] == "turn.completed"
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()


class Teller:
    """Tells one turn, event by event; what the model thinks only if it is to be shown, dimly."""

    def __init__(self, out: TextIO, *, thinking: bool = False) -> None:
        self.completed = False
        self._out = out
        self._thinking = thinking
        self._thinks = False
        self._midline = False
        self._streamed: dict[str, str] = {}
        self._how: dict[str, Callable[[Json], None]] = {
            "message.delta": self._delta,
            "message.assistant": self._assistant,
            "model.retry": self._retry,
            "tool.call": self._call,
            "tool.progress": self._progress,
            "tool.result": self._result,
            "context.compacted": self._compacted,
            "turn.recovered": lambda _: self._line("(Brain was restarted; the turn goes on)"),
            "turn.completed": self._completed,
            "turn.failed": self._failed,
            "turn.interrupted": lambda _: self._line("(interrupted)"),
            "session.closed": lambda _: self._line("(the session is closed)"),
        }

    def tell(self, event: Event) -> None:
        """Say what an event means to a reader, if anything."""
        how = self._how.get(event["type"])
        if how is not None:
            how(event["data"])

    def _delta(self, data: Json) -> None:
        if data["kind"] == "text":
            ident = data["message_id"]
            self._streamed[ident] = self._streamed.get(ident, "") + data["text"]
            self._say(data["text"])
        elif data["kind"] == "thinking" and self._thinking:
            self._think(data["text"])

    def _assistant(self, data: Json) -> None:
        """Say what the deltas didn't: only who was there in time has seen all of them."""
        text = "".join(block["text"] for block in data["content"] if block["type"] == "text")
        streamed = self._streamed.pop(data["message_id"], "")
        if not text.startswith(streamed):
            self._end_line()
            streamed = ""
        self._say(text.removeprefix(streamed))
        self._end_line()
        if data.get("stop_reason") == "length":
            self._line("(cut off: the answer is as long as it may be)")

    def _retry(self, data: Json) -> None:
        seconds = round(data["delay_seconds"], 1)
        self._line(f"({data['error']['message']} Trying again in {seconds:g} s.)")

    def _call(self, data: Json) -> None:
        self._line(f"→ {data['name']} {compact(data['arguments'])}")

    def _progress(self, data: Json) -> None:
        self._line(f"  … {compact(data['progress'])}")

    def _result(self, data: Json) -> None:
        mark = "✗" if data["is_error"] else "←"
        unknown = " (it may have happened)" if data["unknown_outcome"] else ""
        self._line(f"{mark} {data['name']}{unknown}: {_content(data)}")

    def _compacted(self, data: Json) -> None:
        before, after = data["tokens_before"], data["tokens_after"]
        self._line(f"(the model's context was summarised: {before:,} tokens are {after:,} now)")

    def _completed(self, data: Json) -> None:
        self.completed = True
        if data["stop_reason"] != "end_turn":
            self._line(f"(stopped: {data['stop_reason']})")

    def _failed(self, data: Json) -> None:
        error = data["error"]
        self._line(f"(the turn failed: {error['message']} {advice(error['code'])}".rstrip() + ")")

    def _say(self, text: str) -> None:
        if text and self._thinks:
            self._end_line()
        self._write(plain(text))

    def _think(self, text: str) -> None:
        if text and not self._thinks:
            self._end_line()
            self._thinks = True
        self._write(plain(text), dim=True)

    def _write(self, text: str, *, dim: bool = False) -> None:
        if text:
            self._out.write(f"{_DIM}{text}{_END}" if dim else text)
            self._out.flush()
            self._midline = not text.endswith("\n")

    def _end_line(self) -> None:
        self._thinks = False
        if self._midline:
            self._write("\n")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(plain(text) + "\n")


def compact(value: object, limit: int = _MAX_SHOWN) -> str:
    """A JSON value on one line, cut off if it is long."""
    return _short(json.dumps(value, ensure_ascii=False), limit)


def _content(data: Json) -> str:
    shown = [
        block["text"] if block["type"] == "text" else f"[{block['mime_type']}]"
        for block in data["content"]
    ]
    return _short(" ".join(shown), _MAX_SHOWN)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
