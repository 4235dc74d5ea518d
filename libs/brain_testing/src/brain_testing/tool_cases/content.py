"""The fields of a result and its content blocks (REPLY-02, REPLY-03, OUT-01)."""

import base64
from typing import Any

from brain_testing.raw_script import answers, ok
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_NOTHING = "neither content nor structured content"
_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()


def _image(**fields: Any) -> dict[str, Any]:
    return {"type": "image", "data": _PNG, "mime_type": "image/png", **fields}


def _case(name: str, body: Any, expect: Expect) -> Case:
    return Case(name, answers(body), expect, proves=("REPLY-02", "REPLY-03", "OUT-01", "OUT-05"))


def _kept(name: str, *blocks: dict[str, Any]) -> Case:
    return _case(name, {"content": list(blocks)}, gives(list(blocks)))


def _bad(name: str, body: Any, says: str = "") -> Case:
    return _case(name, body, fails("bad_result", says))


def _bad_block(name: str, block: Any, says: str = "") -> Case:
    return _bad(name, {"content": [{"type": "text", "text": "first"}, block]}, says)


_FIELDS = (
    _case("an error result is the tool's own answer", ok("denied", is_error=True),
          Expect(is_error=True, content=text("denied"))),
    _case("an error may say that its outcome is unknown",
          ok("half done", is_error=True, unknown_outcome=True),
          Expect(is_error=True, unknown_outcome=True, content=text("half done"))),
    _case("an unknown outcome without an error is kept as it is", ok("sent", unknown_outcome=True),
          Expect(unknown_outcome=True, content=text("sent"))),
    _case("false is the same as nothing", ok(is_error=False, unknown_outcome=False),
          gives(text("ok"))),
    _case("an error may have structured content", ok("no", is_error=True, structured_content=[1]),
          Expect(is_error=True, content=text("no"), structured="[1]")),
    _bad("an array is no result", [ok()]),
    _bad("a string is no result", '"ok"'),
    _bad("null is no result", "null"),
    _bad("an empty object is no result", {}, _NOTHING),
    _bad("an error needs content too", {"is_error": True}, _NOTHING),
    _bad("no block at all is no result", {"content": []}, _NOTHING),
    _bad("content must be a list", {"content": {"type": "text", "text": "ok"}}, "$.content"),
    _bad("content must not be a string", {"content": "ok"}, "$.content"),
    _bad("content must not be null", {"content": None, "structured_content": 1}, "$.content"),
    _bad("is_error must not be a string", ok(is_error="false"), "$.is_error"),
    _bad("is_error must not be a number", ok(is_error=0), "$.is_error"),
    _bad("is_error must not be null", ok(is_error=None), "$.is_error"),
    _bad("unknown_outcome must be a boolean", ok(unknown_outcome="no"), "$.unknown_outcome"),
    _bad("an unknown field is refused", ok(error="boom"), "`error`"),
    _bad("the case of a field matters", ok(isError=True), "`isError`"),
    _bad("a field of another protocol is refused", ok(_meta={}), "`_meta`"),
)  # fmt: skip

_BLOCKS = (
    _kept("several blocks keep their order", *text("1"), _image(), *text("2")),
    _kept("an empty text is a text", *text("")),
    _kept("an image may be of any kind of image", _image(mime_type="image/svg+xml"),
          _image(mime_type="image/vnd.adobe.photoshop"), _image(mime_type="image/x-icon")),
    _kept("a thousand blocks are fine", *text("x") * 1000),
    _bad_block("a block must be an object", "text", "$.content[1]"),
    _bad_block("a block must not be null", None, "$.content[1]"),
    _bad_block("a block must have a type", {"text": "ok"}, "$.content[1]"),
    _bad_block("a type must be a string", {"type": 1}, "$.content[1]"),
    _bad_block("an audio block is not known", {"type": "audio", "data": _PNG}, "$.content[1]"),
    _bad_block("a resource is not known", {"type": "resource", "resource": {}}, "$.content[1]"),
    _bad_block("a text block needs its text", {"type": "text"}, "`text`"),
    _bad_block("a text must be a string", {"type": "text", "text": 1}, "$.content[1].text"),
    _bad_block("a text must not be null", {"type": "text", "text": None}, "$.content[1].text"),
    _bad_block("a text block has no other field", {"type": "text", "text": "", "annotations": {}},
               "`annotations`"),
    _bad_block("an image needs its data", {"type": "image", "mime_type": "image/png"}, "`data`"),
    _bad_block("an image needs its type", {"type": "image", "data": _PNG}, "`mime_type`"),
    _bad_block("an image has no other field", _image(alt="a cat"), "`alt`"),
    _bad_block("another spelling of a field is another field", _image(mimeType="image/png"),
               "`mimeType`"),
    _bad_block("an image's data must be a string", _image(data=[1, 2]), "$.content[1].data"),
    _bad_block("an image without bytes is none", _image(data=""), "/content/1"),
    _bad_block("what isn't base64 is refused", _image(data="not base64!"), "not base64"),
    _bad_block("base64 needs its padding", _image(data="QUI"), "not base64"),
    _bad_block("base64 has no more than its padding", _image(data="QUI=="), "not base64"),
    _bad_block("base64 has no line breaks", _image(data="QUJD\nREVG"), "not base64"),
    _bad_block("base64 for URLs is another alphabet", _image(data="-_-_"), "not base64"),
    _bad_block("a data URL is not base64", _image(data=f"data:image/png;base64,{_PNG}"),
               "not base64"),
    _bad_block("an image's data is ASCII", _image(data="QUJD\u0417"), "not base64"),
    _bad_block("a document is no image", _image(mime_type="application/pdf"), "not an image type"),
    _bad_block("a type that only begins like an image's is none", _image(mime_type="images/png"),
               "not an image type"),
    _bad_block("an image type needs a subtype", _image(mime_type="image/"), "not an image type"),
    _bad_block("an image type is one word", _image(mime_type="image/png, text/html"),
               "not an image type"),
    _bad_block("an image type has no line break", _image(mime_type="image/png\n"),
               "not an image type"),
    _bad_block("an empty type is no image type", _image(mime_type=""), "not an image type"),
)  # fmt: skip

CONTENT_CASES = (*_FIELDS, *_BLOCKS)
