"""Text from elsewhere, made harmless for a terminal. Above: `output`, `say`, `reading`.

A tool's answer or a log line may hold escape sequences, which could rename the window, hide what
was printed before, or worse. They are shown instead of sent.
"""

import json
import re

_SHOWN: dict[int, str | None] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    0x7F: "\u2421",
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("\r"): None,
}


def plain(text: str) -> str:
    """The text with each control character as a visible sign, but for line ends and tabs."""
    return text.translate(_SHOWN)


_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What is not seen, or changes how the text around it is: a model may read it all the same."""


def shown_json(document: object, indent: int | str) -> str:
    """The document as JSON, in which everything can be seen."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def holds_unseen(text: str) -> bool:
    """Whether a text has characters that a reader would miss."""
    return _UNSEEN.search(text) is not None
