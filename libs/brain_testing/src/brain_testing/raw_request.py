"""What a scripted tool server received, byte for byte. Above: `tool_server`."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RawRequest:
    """One request, as far as it was read. `connection` counts the server's connections from 0."""

    connection: int
    head: bytes = b""
    body: bytes = b""
    complete: bool = False
    fields: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def line(self) -> str:
        """The request line, for example `POST /tools/echo HTTP/1.1`."""
        return self.head.partition(b"\r\n")[0].decode("latin-1")

    @property
    def path(self) -> str:
        """The request target."""
        return self.line.split(" ")[1]

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def call_id(self) -> str:
        """The call that the request is for."""
        return self.json["call_id"]

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """The value of a header that is there at most once."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None

    def set_head(self, head: bytes) -> None:
        """Take in the request line and the headers, with the empty line that ends them."""
        self.head = head
        for line in head.decode("latin-1").split("\r\n")[1:-2]:
            name, _, value = line.partition(":")
            self.fields.append((name, value.strip()))
