"""A turn's events as lines of text. Above: `chat`."""

import json
from collections.abc import Callable
from typing import Any, TextIO

Json = dict[str, Any]
_MAX_SHOWN = 2000


class Teller:
    """Tells one turn, event by event. `completed` says whether it came to its end."""

    def __init__(self, out: TextIO) -> None:
        self.completed = False
        self._out = out
        self._midline = False
        self._streamed: set[str] = set()
        self._how: dict[str, Callable[[Json], None]] = {
            "message.delta": self._delta,
            "message.assistant": self._assistant,
            "tool.call": self._call,
            "tool.progress": self._progress,
            "tool.result": self._result,
            "turn.completed": self._completed,
            "turn.failed": self._failed,
            "turn.interrupted": lambda _: self._line("(interrupted)"),
            "session.closed": lambda _: self._line("(the session is closed)"),
        }

    def tell(self, event: Json) -> None:
        """Say what an event means to a reader, if anything."""
        how = self._how.get(event["type"])
        if how is not None:
            how(event["data"])

    def _delta(self, data: Json) -> None:
        if data["kind"] == "text":
            self._streamed.add(data["message_id"])
            self._write(data["text"])

    def _assistant(self, data: Json) -> None:
        # The deltas may have been missed: they are shown only to who was there in time.
        if data["message_id"] not in self._streamed:
            for block in data["content"]:
                if block["type"] == "text":
                    self._write(block["text"])
        self._end_line()

    def _call(self, data: Json) -> None:
        self._line(f"→ {data['name']} {_compact(data['arguments'])}")

    def _progress(self, data: Json) -> None:
        self._line(f"  … {_compact(data['progress'])}")

    def _result(self, data: Json) -> None:
        mark = "✗" if data["is_error"] else "←"
        unknown = " (it may have happened)" if data["unknown_outcome"] else ""
        self._line(f"{mark} {data['name']}{unknown}: {_content(data)}")

    def _completed(self, data: Json) -> None:
        self.completed = True
        if data["stop_reason"] != "end_turn":
            self._line(f"(stopped: {data['stop_reason']})")

    def _failed(self, data: Json) -> None:
        self._line(f"(the turn failed: {data['error']['message']})")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._midline = not text.endswith("\n") if text else self._midline

    def _end_line(self) -> None:
        if self._midline:
            self._write("\n")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(text + "\n")


def _content(data: Json) -> str:
    shown = [
        block["text"] if block["type"] == "text" else f"[{block['mime_type']}]"
        for block in data["content"]
    ]
    return _short(" ".join(shown))


def _compact(value: object) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
