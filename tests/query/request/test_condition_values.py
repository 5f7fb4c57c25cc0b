"""The values of a condition: as many as its operator takes."""

from typing import Any

import pytest
from msgspec import UNSET

from query.request.condition_values import MAX_LIST_VALUES, values_of, with_index
from query.request.filter_struct import Filter
from query.request.operators import BY_NAME
from schemas.errors import Malformed


def values(operator: str, value: Any = UNSET) -> Any:
    return values_of(Filter("country", operator, value=value), BY_NAME[operator], "filters[2]")


def test_an_operator_has_none_one_or_a_list() -> None:
    assert values("is_null") == ()
    assert values("is_null", None) == ()
    assert values("eq", "DE") == ("DE",)
    assert values("in", ["DE", None]) == ["DE", None]


@pytest.mark.parametrize(
    ("operator", "value", "message"),
    [
        ("is_null", "DE", "'filters[2].value' has no meaning for 'is_null'; leave it out"),
        ("eq", None, "'filters[2].value' is missing: 'eq' takes one value; use is_null"),
        ("eq", ["DE"], "'filters[2].value' must be one value for 'eq'; 'in' takes a list"),
        ("ne", ["DE"], "'filters[2].value' must be one value for 'ne'; 'not_in' takes a list"),
        ("contains", ["D"], "'filters[2].value' must be one value for 'contains'"),
        ("in", "DE", "'filters[2].value' must be a list of values for 'in'"),
        ("in", [], "'filters[2].value' has 0 values; 1 to 1000 are allowed"),
        ("in", ["DE"] * (MAX_LIST_VALUES + 1), "has 1001 values; 1 to 1000 are allowed"),
    ],
)
def test_others_are_refused_with_the_rule(operator: str, value: Any, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        values(operator, value)

    assert message in str(refused.value)


def test_only_values_of_lists_have_an_index() -> None:
    assert [*with_index(["DE"], BY_NAME["eq"])] == [("", "DE")]
    assert [*with_index(["DE", "FR"], BY_NAME["in"])] == [("[0]", "DE"), ("[1]", "FR")]
