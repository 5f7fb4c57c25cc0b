"""A member that occurs twice in an object of a body is refused."""

import json
from typing import Any

import pytest

from query.request.body import decode_json
from query.request.order import OrderTerm
from schemas.errors import Malformed
from tests.query.query_service import InProcessService


@pytest.mark.parametrize(
    ("body", "member"),
    [
        (b'{"field": "a", "field": "b"}', "field"),
        (b'{"field": "a", "fi\\u0065ld": "a"}', "field"),
        (b'[1, {"x": [{"y": 1, "z": 2, "y": null}]}]', "y"),
    ],
)
def test_a_member_that_occurs_twice_is_refused(body: bytes, member: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode_json(body, Any)

    said = f"The body has the member '{member}' twice in one object; keep one"
    assert refused.value.message == said


def test_a_body_with_another_spelling_is_looked_at_too() -> None:
    with pytest.raises(Malformed, match=r"^The body has the member 'Field' twice in one object"):
        decode_json(b'{"Field": "a", "Field": "b"}', OrderTerm)


def test_equal_members_of_different_objects_are_none_twice() -> None:
    value: Any = [{"x": 1}, {"x": {"x": 2}}, [], {}]

    assert decode_json(json.dumps(value).encode(), Any) == value
    nested: Any = decode_json(b'[{"x": 1e3}, {"x": {"x": -0.5}}]', Any)
    assert nested == [{"x": 1000}, {"x": {"x": -0.5}}]


def test_a_query_with_a_member_twice_has_the_status_400(service: InProcessService) -> None:
    body = b'{"parameters": ["summary"], "preset": "last_7d", "preset": "last_30d"}'

    reply = service.ask("POST", "/v1/query", body, website_id="shop")

    assert reply.status == 400
    assert reply.json["error"] == ("The body has the member 'preset' twice in one object; keep one")
