"""Why a provider would refuse a request. Above: `server`, tests. Below: one validator per format.

    refusal("anthropic-messages", body) is None

The rules are those which the providers document, or are known to enforce. Where servers that
imitate a format are stricter than the original (a call's arguments must be a JSON object), the
stricter rule holds: Brain talks to those too.
"""

import json
from collections.abc import Callable, Iterator

from brain_testing.model_server.anthropic_rules import anthropic_problems
from brain_testing.model_server.chat_rules import chat_problems
from brain_testing.model_server.responses_rules import responses_problems
from brain_testing.model_server.strict import Dialect, Json, NotAsItShouldBe, shaped

_RULES: dict[Dialect, Callable[[Json], Iterator[str]]] = {
    "openai-chat": chat_problems,
    "openai-responses": responses_problems,
    "anthropic-messages": anthropic_problems,
}


def refusal(dialect: Dialect, body: bytes | Json) -> str | None:
    """The first thing for which the provider answers 400, or None if the request is valid."""
    try:
        document = _document(body) if isinstance(body, bytes) else body
        return next(_RULES[dialect](document), None)
    except NotAsItShouldBe as error:
        return str(error)


def _document(body: bytes) -> Json:
    try:
        return shaped(json.loads(body), Json)
    except ValueError:
        raise NotAsItShouldBe("We could not parse the JSON body of your request.") from None
