"""Errors name the values that a member may have."""

from enum import StrEnum
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from query.request.body import convert
from schemas.errors import Malformed


class Width(StrEnum):
    DAY = "day"
    WEEK = "week"


class Inner(Struct):
    model: Literal["first_touch", "last_touch"] = "last_touch"
    width: Annotated[Width, Meta(description="bucket")] | None = None


class Outer(Struct):
    parts: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"parts": [{}, {"model": "last"}]},
            "'x.parts[1].model' has a value that is not allowed: 'last'; did you mean "
            "'last_touch'? allowed are first_touch, last_touch",
        ),
        (
            {"by_name": {"a": {"width": "year"}}},
            "'x.by_name[...].width' has a value that is not allowed: 'year'; allowed are day, week",
        ),
    ],
)
def test_allowed_values_are_named(value: object, said: str) -> None:
    with pytest.raises(Malformed) as refused:
        convert(value, Outer, "x")

    assert str(refused.value) == said
