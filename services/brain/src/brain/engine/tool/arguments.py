"""The arguments as the model wrote them: what reaches a service is exactly what was checked.

Above: `dispatch`. Below: `strict_json`, `schema`.
"""

from brain.engine.tool import strict_json
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.strict_json import Document, NotJson


def read_arguments(text: bytes) -> Document | Failure:
    """Read the model's text as one JSON object, or say to the model why it is none."""
    document = strict_json.read(text)
    if isinstance(document, NotJson):
        return _refused(f"They are not JSON: {document.reason}.")
    if not isinstance(document.value, dict):
        return _refused("They must be a JSON object.")
    return document


def mismatch(problems: tuple[str, ...]) -> Failure:
    """The arguments don't match the tool's input schema, for these reasons."""
    return _refused("They do not match the tool's input schema: " + "; ".join(problems) + ".")


def _refused(detail: str) -> Failure:
    return Failure(Code.REFUSED_ARGUMENTS, detail)
