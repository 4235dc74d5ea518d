"""Text from elsewhere, made harmless for a terminal. Above: `output`, `say`, `reading`.

A tool's answer or a log line may hold escape sequences, which could rename the window, hide what
was printed before, or worse. They are shown instead of sent.
"""

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
