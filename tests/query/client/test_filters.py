"""Filters in short text."""

from typing import Any

import pytest

from query.client import InvalidRequest, parse_filter, to_filters
from query.client.filters import _SIGNS, _WORDS
from query.request.operators import BY_NAME, Arity


@pytest.mark.parametrize(
    ("text", "field", "operator", "value"),
    [
        ("country = DE", "country", "eq", "DE"),
        ("path starts_with /docs", "path", "starts_with", "/docs"),
        ("path ends_with 1", "path", "ends_with", "1"),
        ("path ends with .pdf", "path", "ends_with", ".pdf"),
        ("properties.plan!=pro", "properties.plan", "ne", "pro"),
        ("visit.utm_campaign = Nov Sale", "visit.utm_campaign", "eq", "Nov Sale"),
        ("title ~ a = b", "title", "contains", "a = b"),
        ("title = Fish and chips in oil", "title", "eq", "Fish and chips in oil"),
        ("title = 'a and b = c'", "title", "eq", "a and b = c"),
        ("title not contains x", "title", "not_contains", "x"),
        ("time_on_page >= 1.5", "time_on_page", "gte", 1.5),
        ("scroll_depth < -3", "scroll_depth", "lt", -3),
        ("is_bot = true", "is_bot", "eq", True),
        ("browser_version = '120'", "browser_version", "eq", "120"),
        ('browser_version = "120"', "browser_version", "eq", "120"),
        ("version = 007", "version", "eq", "007"),
        ('"properties.my plan" eq pro', "properties.my plan", "eq", "pro"),
        ("country in DE, AT", "country", "in", ["DE", "AT"]),
        ('plan NOT IN (pro, "a, b", 3)', "plan", "not_in", ["pro", "a, b", 3]),
        ("isolated = in", "isolated", "eq", "in"),
    ],
)
def test_a_condition_is_read(text: str, field: str, operator: str, value: Any) -> None:
    assert parse_filter(text) == {"field": field, "operator": operator, "value": value}


@pytest.mark.parametrize(
    ("text", "filter_"),
    [
        ("segment = German phones", {"segment": "German phones"}),
        ("segment != 12", {"not": {"segment": "12"}}),
    ],
)
def test_a_segment_is_named(text: str, filter_: Any) -> None:
    assert parse_filter(text) == filter_


def test_a_segment_has_no_other_operator() -> None:
    with pytest.raises(InvalidRequest, match="write 'segment = NAME'"):
        parse_filter("segment in a, b")


@pytest.mark.parametrize("text", ["referrer is null", "referrer is_null", " referrer  IS  NULL "])
def test_a_test_for_null_has_no_value(text: str) -> None:
    assert parse_filter(text) == {"field": "referrer", "operator": "is_null"}


@pytest.mark.parametrize(
    ("text", "behavior"),
    [
        ("has done signup", {"has_done": {"name": "signup"}}),
        ("has_done /pricing", {"has_done": {"name": "/pricing"}}),
        ("has done goal:Sign up", {"has_done": {"goal": "Sign up"}}),
        ("has not done event:signup", {"has_not_done": {"event": "signup"}}),
        ("has not done signup ever", {"has_not_done": {"name": "signup", "within": "ever"}}),
        ("Has Done  buy now 3 times", {"has_done": {"name": "buy now", "times": 3}}),
        (
            "has_not_done '3 times' 2 times ever",
            {"has_not_done": {"name": "3 times", "times": 2, "within": "ever"}},
        ),
        ('has done "/a b ever"', {"has_done": {"name": "/a b ever"}}),
    ],
)
def test_what_visitors_did_is_read(text: str, behavior: Any) -> None:
    assert parse_filter(text) == behavior


def test_filters_of_a_behavior_may_be_short_texts() -> None:
    given = {"has_done": {"event": "signup", "filters": ["properties.plan = pro"]}}

    assert to_filters(given) == [
        {
            "has_done": {
                "event": "signup",
                "filters": [{"field": "properties.plan", "operator": "eq", "value": "pro"}],
            }
        }
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country", "filter 'country' is no condition; write it as in \"country = DE\""),
        ("country =", "filter 'country =' has no value"),
        ("country like D", "operator 'like' is not one of ="),
        ("country === DE", "operator '===' is not one of ="),
        ("referrer is null x", "'is_null' takes no value"),
        ("country = DE or country = FR", "has several conditions; give each by itself"),
        ("country = DE and visit.channel is null", "has several conditions"),
        ("country in DE, AT, host ~ shop", "has several conditions"),
        ("", "is no condition"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_rule(text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_filter(text)

    assert message in str(raised.value)
    assert raised.value.field == "filters"


def test_the_short_text_knows_the_operators_of_the_service() -> None:
    assert set(_WORDS) == set(BY_NAME)
    assert set(_SIGNS.values()) <= set(BY_NAME)
    with_list = {name for name, operator in BY_NAME.items() if operator.arity is Arity.MANY}
    assert {n for n in BY_NAME if isinstance(parse_or_none(n), list)} == with_list


def parse_or_none(operator: str) -> Any:
    try:
        return parse_filter(f"a {operator} b")["value"]
    except InvalidRequest:
        return None


def test_filters_are_dicts_and_texts_alone_in_lists_and_in_groups() -> None:
    condition = {"field": "country", "operator": "eq", "value": "DE"}

    assert to_filters("country = DE") == [condition]
    assert to_filters(condition) == [condition]
    assert to_filters([condition, "country = DE"]) == [condition, condition]
    assert to_filters({"or": ["country = DE", {"not": "country = DE"}]}) == [
        {"or": [condition, {"not": condition}]}
    ]
