"""The result object that a tool service answers with. Above: `json_reply`, `sse_reply`.

Below: `strict_json`, `schema`. What is right is kept as it was sent; everything else is refused
whole, because a half-understood result is worse for a model than a clear error.
"""

import binascii
import re

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool import strict_json
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.schema import Schema
from brain.engine.tool.strict_json import Document, NotJson
from brain_core.content import ImageBlock, ResultBlock, TextBlock, ToolResult

_BOM = b"\xef\xbb\xbf"
_IMAGE_TYPE = re.compile(r"image/[A-Za-z0-9!#$&^_.+-]+")


class _Text(Struct, frozen=True, tag="text", forbid_unknown_fields=True):
    text: str

    def block(self) -> TextBlock | str:
        return TextBlock(self.text)


class _Image(Struct, frozen=True, tag="image", forbid_unknown_fields=True):
    data: str
    mime_type: str

    def block(self) -> ImageBlock | str:
        return image(self.data, self.mime_type)


class _Result(Struct, frozen=True, forbid_unknown_fields=True):
    content: tuple[_Text | _Image, ...] = ()
    is_error: bool = False
    unknown_outcome: bool = False
    structured_content: Raw | UnsetType = UNSET


_decoder = msgspec.json.Decoder(_Result)


def parse_result(text: bytes, output_schema: Schema | None = None) -> ToolResult | Failure:
    """The result in `text`; a success must match the schema, if there is one.

    A byte order mark before it is passed over.
    """
    document = strict_json.read(text.removeprefix(_BOM))
    if isinstance(document, NotJson):
        return bad_result(f"It is not JSON: {document.reason}.")
    try:
        sent = _decoder.decode(document.compact)
    except msgspec.ValidationError as error:
        return bad_result(f"{error}.")
    blocks = _blocks(sent.content)
    if isinstance(blocks, Failure):
        return blocks
    result = ToolResult(blocks, sent.is_error, sent.unknown_outcome, sent.structured_content)
    return settled(result, output_schema)


def settled(result: ToolResult, output_schema: Schema | None) -> ToolResult | Failure:
    """The result as a model may have it: it says something, and a success matches the schema."""
    problem = None if output_schema is None else _mismatch(result, output_schema)
    if problem is not None:
        return bad_result(problem)
    if result.content:
        return result
    if isinstance(result.structured_content, UnsetType):
        return bad_result("It has neither content nor structured content.")
    text = TextBlock(bytes(result.structured_content).decode())
    return msgspec.structs.replace(result, content=(text,))


def image(data: str, mime_type: str) -> ImageBlock | str:
    """The image, or what is wrong with it as the end of a sentence."""
    if not _IMAGE_TYPE.fullmatch(mime_type):
        return "its `mime_type` is not an image type"
    if not _is_base64(data):
        return "its `data` is not base64"
    return ImageBlock(data, mime_type)


def bad_result(detail: str) -> Failure:
    """The result can't be used, for this reason: a sentence."""
    return Failure(Code.BAD_RESULT, detail)


def _mismatch(result: ToolResult, schema: Schema) -> str | None:
    if result.is_error:
        return None
    if isinstance(result.structured_content, UnsetType):
        return "It has no structured content, which the tool's output schema asks for."
    structured = bytes(result.structured_content)
    problems = schema.problems(Document(msgspec.json.decode(structured), Raw(structured)))
    if not problems:
        return None
    return f"Its structured content does not match the output schema: {'; '.join(problems)}."


def _blocks(content: tuple[_Text | _Image, ...]) -> tuple[ResultBlock, ...] | Failure:
    blocks: list[ResultBlock] = []
    for index, item in enumerate(content):
        block = item.block()
        if isinstance(block, str):
            return bad_result(f"The block at /content/{index} is an image, but {block}.")
        blocks.append(block)
    return tuple(blocks)


def _is_base64(data: str) -> bool:
    try:
        return bool(binascii.a2b_base64(data, strict_mode=True))
    except ValueError:
        return False
