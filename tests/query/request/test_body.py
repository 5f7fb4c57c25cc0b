"""Bodies that are not JSON: the error says where."""

import pytest

from query.request.body import decode_json
from query.request.order import OrderTerm
from schemas.errors import Malformed


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b'{"field": "a",\n "direction": }',
            "The body is not valid JSON: invalid character at line 2, column 15",
        ),
        (
            '{"field": "é", }'.encode(),
            "The body is not valid JSON: trailing comma in object at line 1, column 16",
        ),
        (b"", "The body is not valid JSON: it is empty"),
        (b'{"field": "a"', "The body is not valid JSON: it ends too early"),
        (b'{"field": "\\ud83d"}', "The body is not valid JSON: \\ud83d is half a character"),
        (b'{"field": "\xff"}', "The body is not valid JSON: it is not UTF-8"),
        (b"[" * 5_000, "'body' must be an object, not an array"),
        (b'{"x": ' + b"[" * 5_000, "The body is not valid JSON: it is nested too deep"),
    ],
)
def test_what_is_not_json_is_told_with_its_place(body: bytes, said: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode_json(body, OrderTerm)

    assert refused.value.message == said


def test_what_holds_the_json_is_named() -> None:
    with pytest.raises(Malformed) as refused:
        decode_json(b"[", list[OrderTerm], "filters")

    assert refused.value.message == "'filters' is not valid JSON: it ends too early"
