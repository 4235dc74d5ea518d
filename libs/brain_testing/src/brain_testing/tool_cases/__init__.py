"""The protocol between Brain and a tool service, as a table of cases.

Above: the tests that drive the table, through the tool layer or through the whole of Brain.
Below: `raw_script`, in which each case says byte for byte what its service does.
"""

from dataclasses import replace

from brain_testing.tool_cases.arguments import ARGUMENT_CASES
from brain_testing.tool_cases.case import Case
from brain_testing.tool_cases.content import CONTENT_CASES
from brain_testing.tool_cases.http import HTTP_CASES
from brain_testing.tool_cases.json_text import JSON_CASES
from brain_testing.tool_cases.sizes import SIZE_CASES
from brain_testing.tool_cases.sse import SSE_CASES
from brain_testing.tool_cases.structured import STRUCTURED_CASES

_FAMILIES: dict[str, tuple[Case, ...]] = {
    "arguments": ARGUMENT_CASES,
    "http": HTTP_CASES,
    "json": JSON_CASES,
    "content": CONTENT_CASES,
    "structured": STRUCTURED_CASES,
    "sse": SSE_CASES,
    "size": SIZE_CASES,
}

ALL_CASES: tuple[Case, ...] = tuple(
    replace(case, name=f"{family}: {case.name}")
    for family, cases in _FAMILIES.items()
    for case in cases
)
"""Every case, under a name of its own."""

__all__ = ["ALL_CASES", "Case"]
