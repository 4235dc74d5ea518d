"""What a 2xx response says it is. Above: `http_call`. Below: `outcome`."""

import re
from typing import Literal

from brain.engine.tool.http_response import HttpResponse
from brain.engine.tool.outcome import Code, Failure

Kind = Literal["application/json", "text/event-stream"]

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)
_PLAIN = frozenset({"identity", "chunked"})
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})


def kind_of(response: HttpResponse) -> Kind | Failure:
    """How to read the body, or why it can't be read."""
    values = response.all("content-type")
    if len(values) != 1:
        return _wrong("It has none." if not values else "It has several.")
    encodings = response.all("content-encoding") + response.all("transfer-encoding")
    if any(encoding.lower() not in _PLAIN for encoding in encodings):
        return _wrong("It is compressed, although that was not asked for.")
    if any(charset.lower() not in _UTF8 for charset in _CHARSET.findall(values[0])):
        return _wrong("Its charset is not UTF-8.")
    essence = values[0].partition(";")[0].strip().lower()
    if essence == "application/json":
        return "application/json"
    if essence == "text/event-stream":
        return "text/event-stream"
    return _wrong("It is neither application/json nor text/event-stream.")


def _wrong(detail: str) -> Failure:
    return Failure(Code.WRONG_CONTENT_TYPE, detail)
