"""Changes of an item: members are converted, replaced or removed."""

from typing import Any

import pytest

from schemas.lake.item_changes import InvalidChange, NotChangeable, parse_change


def changed(item: dict[str, Any], *changes: str) -> dict[str, Any]:
    for change in changes:
        parse_change(change).apply(item)
    return item


@pytest.mark.parametrize(
    ("properties", "change", "after"),
    [
        ({"total": "12.5"}, "properties.total = number", {"total": 12.5}),
        ({"total": " 12 "}, "properties.total=number", {"total": 12}),
        ({"total": 7}, "properties.total = text", {"total": "7"}),
        ({"paid": "TRUE"}, "properties.paid = boolean", {"paid": True}),
        ({"paid": 0}, "properties.paid = boolean", {"paid": False}),
        ({"a": 1, "b": 2}, "properties.b = nothing", {"a": 1}),
        ({}, "properties.b = nothing", {}),
        ({}, "properties.total = number", {}),
        ({}, 'properties.plan = {"name": "pro"}', {"plan": {"name": "pro"}}),
        ({}, "properties.plan = pro = x", {"plan": "pro = x"}),
    ],
)
def test_a_member_is_changed(
    properties: dict[str, Any], change: str, after: dict[str, Any]
) -> None:
    assert changed({"properties": properties}, change) == {"properties": after}


def test_changes_follow_one_another() -> None:
    assert changed({"name": 7}, "name = text", "properties = {}", "properties.a = 1") == {
        "name": "7",
        "properties": {"a": 1},
    }


@pytest.mark.parametrize(
    ("item", "change", "problem"),
    [
        ({"properties": {"total": "a lot"}}, "properties.total = number", "cannot be made number"),
        ({"properties": {"total": "true"}}, "properties.total = number", "cannot be made number"),
        ({"properties": {"paid": "yes"}}, "properties.paid = boolean", "cannot be made boolean"),
        ({"properties": "none"}, "properties.total = 1", "has no object to be in"),
        ({}, "properties.total = 1", "has no object to be in"),
    ],
)
def test_a_change_that_an_item_cannot_be_given(
    item: dict[str, Any], change: str, problem: str
) -> None:
    with pytest.raises(NotChangeable, match=problem):
        changed(item, change)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name", "give PATH = VALUE"),
        ("= 7", "give PATH = VALUE"),
        ("a..b = 7", "give PATH = VALUE"),
        ("name =", "give PATH = VALUE"),
        ("eventId = 1", "makes a replay count once"),
    ],
)
def test_a_change_that_no_item_can_be_given(text: str, problem: str) -> None:
    with pytest.raises(InvalidChange, match=problem):
        parse_change(text)
