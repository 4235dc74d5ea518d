"""How much work a schema can make. Above: `schema`.

A validator's work is at most about the schema's weight times the document's length, if nothing in
the schema multiplies: then it is safe to validate where other sessions wait. What can multiply
(a reference to itself, `unevaluatedProperties` inside each other) has no weight that bounds it.
"""

import math
import re
from urllib.parse import unquote

from brain.engine.tool.strict_json import Json

UNBOUNDED = math.inf

_MULTIPLY = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contentSchema",
    }
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_MAX_REPEAT = 1_000_000
_MAX_DEPTH = 200


def weigh(schema: Json) -> float:
    """The number of steps that one place in a document can cost, references followed."""
    return _Scales(schema).node(schema, 0)


class _Scales:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._targets: dict[str, float] = {}

    def node(self, node: Json, depth: int) -> float:
        """The weight of a schema, or of any other value in one: each counts as if it were one."""
        if depth > _MAX_DEPTH:
            return UNBOUNDED
        if isinstance(node, list):
            return 1 + sum(self.node(item, depth + 1) for item in node)
        if not isinstance(node, dict):
            return 1
        if not _MULTIPLY.isdisjoint(node) or (depth > 0 and "$id" in node):
            return UNBOUNDED
        return 1 + sum(self._keyword(key, value, depth + 1) for key, value in node.items())

    def _keyword(self, key: str, value: Json, depth: int) -> float:
        if key == "$ref" and isinstance(value, str):
            return self._reference(value, depth)
        if key == "pattern" and isinstance(value, str):
            return _pattern(value)
        if key == "patternProperties" and isinstance(value, dict):
            return sum(_pattern(pattern) for pattern in value) + self.node(value, depth)
        if key == "format" and value == "regex":
            return UNBOUNDED
        return self.node(value, depth)

    def _reference(self, reference: str, depth: int) -> float:
        if reference not in self._targets:
            # What leads back to itself while it is being weighed has no bound.
            self._targets[reference] = UNBOUNDED
            self._targets[reference] = self.node(self._resolve(reference), depth)
        return self._targets[reference]

    def _resolve(self, reference: str) -> Json:
        """What a JSON pointer names. Anything else may be anywhere: it counts as the whole."""
        if not reference.startswith("#/"):
            return self._root
        node = self._root
        for part in unquote(reference[2:]).split("/"):
            node = _step(node, part.replace("~1", "/").replace("~0", "~"))
        return node


def _step(node: Json, part: str) -> Json:
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
        return node[int(part)]
    return None


def _pattern(pattern: str) -> float:
    """A pattern runs in time linear in the text, times its size with repetitions written out."""
    size = len(pattern)
    for least, most in _REPEAT.findall(pattern):
        size *= max(1, min(int(most or least), _MAX_REPEAT))
    return size
