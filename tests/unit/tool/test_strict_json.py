"""Strict JSON: it reads what the standard library reads, or says why not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.engine.tool.strict_json import MAX_DEPTH, Document, NotJson, read

pytestmark = pytest.mark.requirement("TOOL-04", "REPLY-10")

# Without surrogates: no UTF-8 text holds them.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_it_reads_whatever_json_can_say(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    document = read(text)
    assert isinstance(document, Document)
    assert document.value == value
    assert json.loads(bytes(document.compact)) == value


@given(VALUES)
def test_compact_json_differs_by_white_space_only(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    document = read(json.dumps(value, ensure_ascii=False, indent=1).encode())
    assert isinstance(document, Document)
    assert bytes(document.compact).decode() == written


@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_not(text: bytes) -> None:
    assert isinstance(read(text), Document | NotJson)


@given(st.text(st.sampled_from('{}[]",:\\u00 1aé'), max_size=30))
def test_what_it_reads_is_json_to_others_too(text: str) -> None:
    document = read(text.encode())
    if isinstance(document, Document):
        assert json.loads(text, object_pairs_hook=no_repetition) == document.value


def no_repetition(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object as a dict, none of them lost."""
    decoded = dict(members)
    assert len(decoded) == len(members)
    return decoded


@given(st.lists(TEXT, min_size=1, max_size=5), st.data())
def test_a_key_that_is_repeated_is_named(keys: list[str], data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from(keys))
    ascii_only = data.draw(st.booleans())
    members = [f"{json.dumps(key, ensure_ascii=ascii_only)}:1" for key in [*keys, repeated]]
    answer = read(("[{" + ",".join(members) + "}]").encode())
    assert isinstance(answer, NotJson)
    assert "occurs twice" in answer.reason


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_the_depth_has_an_exact_limit(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    fits = opening * MAX_DEPTH + "1" + closing * MAX_DEPTH
    assert isinstance(read(fits.encode()), Document)
    assert isinstance(read(f"[{fits}]".encode()), NotJson)


def test_brackets_in_strings_are_no_depth() -> None:
    text = json.dumps(["[" * 500, '\\"[{' * 500, {"[" * 500: "\\"}])
    assert isinstance(read(text.encode()), Document)


@pytest.mark.parametrize("levels", [1_000, 10_000, 1_000_000])
def test_no_depth_is_a_crash(levels: int) -> None:
    assert isinstance(read(b"[" * levels), NotJson)
    assert isinstance(read(b"[" * levels + b"]" * levels), NotJson)
    assert isinstance(read(b'{"a":' * levels), NotJson)


@pytest.mark.parametrize("digits", [19, 20, 40, 4000])
def test_long_integers_keep_their_digits(digits: int) -> None:
    text = b"9" * digits
    document = read(text)
    assert isinstance(document, Document)
    assert bytes(document.compact) == text
    assert document.value == int(text)


def test_an_integer_of_absurd_length_is_refused() -> None:
    assert isinstance(read(b"9" * 100_000), NotJson)
