"""The result of an MCP server's tool, as one of Brain's. Above: `checks`. Below: `result`.

What a model can read is kept: text and images as they are. Of what it can't read (audio, binary
resources) one line says what it was. `structuredContent` is kept digit by digit.
"""

import binascii

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool import strict_json
from brain.engine.tool.outcome import Failure
from brain.engine.tool.result import bad_result, image, settled
from brain.engine.tool.schema import Schema
from brain.engine.tool.strict_json import NotJson
from brain_core.content import ImageBlock, ResultBlock, TextBlock, ToolResult

_EMPTY = "The tool returned no content."


class _Text(Struct, frozen=True, rename="camel", tag="text"):
    text: str

    def block(self) -> ResultBlock | str:
        return TextBlock(self.text)


class _Image(Struct, frozen=True, rename="camel", tag="image"):
    data: str
    mime_type: str

    def block(self) -> ResultBlock | str:
        found: ImageBlock | str = image(self.data, self.mime_type)
        return found if isinstance(found, ImageBlock) else f"is an image, but {found}"


class _Audio(Struct, frozen=True, rename="camel", tag="audio"):
    data: str
    mime_type: str

    def block(self) -> ResultBlock | str:
        return _binary("Audio", self.mime_type, self.data)


class _Contents(Struct, frozen=True, rename="camel"):
    uri: str = ""
    mime_type: str = "application/octet-stream"
    text: str | None = None
    blob: str | None = None


class _Resource(Struct, frozen=True, rename="camel", tag="resource"):
    resource: _Contents

    def block(self) -> ResultBlock | str:
        inside = self.resource
        if inside.text is not None:
            return TextBlock(inside.text)
        if inside.blob is None:
            return "is a resource with neither `text` nor `blob`"
        return _binary(f"Resource {inside.uri}", inside.mime_type, inside.blob)


class _Link(Struct, frozen=True, rename="camel", tag="resource_link"):
    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""

    def block(self) -> ResultBlock | str:
        title = self.title or self.name
        named = f"{title}: {self.uri}" if title else self.uri
        kind = f" ({self.mime_type})" if self.mime_type else ""
        about = f"\n{self.description}" if self.description else ""
        return TextBlock(f"[Resource link] {named}{kind}{about}")


class _Result(Struct, frozen=True, rename="camel"):
    content: tuple[_Text | _Image | _Audio | _Resource | _Link, ...] = ()
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False
    result_type: str = "complete"


_decoder = msgspec.json.Decoder(_Result)


def parse_mcp_result(text: bytes, output_schema: Schema | None = None) -> ToolResult | Failure:
    """The `result` of a `tools/call`; a success must match the schema, if there is one."""
    document = strict_json.read(text)
    if isinstance(document, NotJson):
        return bad_result(f"It is not JSON: {document.reason}.")
    try:
        sent = _decoder.decode(document.compact)
    except msgspec.ValidationError as error:
        return bad_result(f"{error}.")
    if sent.result_type != "complete":
        return bad_result("It asks for more input, which this server can't give.")
    blocks: list[ResultBlock] = []
    for index, item in enumerate(sent.content):
        block = item.block()
        if isinstance(block, str):
            return bad_result(f"The block at /content/{index} {block}.")
        blocks.append(block)
    structured = _given(sent.structured_content)
    if not blocks and isinstance(structured, UnsetType):
        blocks.append(TextBlock(_EMPTY))
    result = ToolResult(tuple(blocks), sent.is_error, structured_content=structured)
    return settled(result, output_schema)


def _given(structured: Raw | UnsetType) -> Raw | UnsetType:
    """Some servers write null where there is nothing."""
    if isinstance(structured, UnsetType) or bytes(structured) == b"null":
        return UNSET
    return structured


def _binary(what: str, mime_type: str, data: str) -> ResultBlock | str:
    try:
        size = len(binascii.a2b_base64(data, strict_mode=True))
    except ValueError:
        return "holds data that is not base64"
    return TextBlock(f"[{what}, {mime_type}, {size} bytes: not shown]")
