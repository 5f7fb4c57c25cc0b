"""What saved records must be, and their normal form."""

import re
from typing import Any

import pytest

from query.resources.saved_types import BODIES, convert_body, new_record
from query.resources.saved_validation import MAX_FILTERS_BYTES
from schemas.errors import Malformed
from schemas.registry import (
    Alias,
    Annotation,
    Board,
    Exploration,
    Funnel,
    Goal,
    MoneyProperty,
    PathGroup,
    SavedRecord,
    Segment,
    Share,
    Website,
)

NOW = 1_796_000_000_000
SECRET = bytes(32)
SHOP = Website(
    id="shop", organization_id="acme", domain="shop.example", created_at=NOW, updated_at=NOW
)
GERMAN = {"field": "country", "operator": "eq", "value": "DE"}
CONTRY = {**GERMAN, "field": "contry"}
STEPS = [{"path": "/"}, {"event": "e"}]
EVENT = {"name": "a", "event": "e"}
MONEY = {**EVENT, "property": "properties.total"}


def valid(kind: type[SavedRecord], **members: Any) -> Any:
    return new_record(kind, SHOP, convert_body(BODIES[kind].new, members), NOW, SECRET)


@pytest.mark.parametrize(
    ("kind", "members", "error"),
    [
        (
            Share,
            {"name": "a", "expires": "2026-11-30T00:53:20Z"},
            "'expires' is 2026-11-30T00:53:20.000Z; give an instant after 2026-11-30T00:53:20.000Z",
        ),
        (
            Funnel,
            {"name": "a", "steps": [{"event": "e"}, {"path": "/", "goal": "g"}]},
            r"'steps\[1\]' has both 'path' and 'goal'; give one of them",
        ),
        (
            Funnel,
            {"name": "a", "steps": [{"event": "e"}, {"label": "second"}]},
            r"'steps\[1\]' must have one of 'event', 'path', 'goal' and 'name'",
        ),
        (
            Funnel,
            {"name": "a", "steps": [{"event": "e"}, {"path": "/", "filters": [CONTRY]}]},
            r"in table 'events', at 'steps\[1\]\.filters\[0\]\.field'; did you mean 'country'\?",
        ),
        (
            Funnel,
            {"name": "a", "steps": STEPS, "breakdown": "contry"},
            "Unknown column 'contry' in 'breakdown'; did you mean 'country'?",
        ),
        (Funnel, {"name": " ", "steps": STEPS}, "'name' must have 1 to 255 characters"),
        (Goal, {"name": "a"}, "A goal has either 'event' or 'path'; give one of them"),
        (Goal, {**EVENT, "path": "/"}, "A goal has either 'event' or 'path'; give one of them"),
        (Goal, {**EVENT, "name": " "}, "'name' must have 1 to 255 characters"),
        (Goal, {**EVENT, "name": "a\0b"}, "'name' has a null character; remove it"),
        (Goal, {"name": "a", "path": "/\0"}, "'path' has a null character; remove it"),
        (
            Goal,
            {**EVENT, "filters": [{**GERMAN, "field": "contry"}]},
            r"in table 'events', at 'filters\[0\]\.field'; did you mean 'country'\?",
        ),
        (
            Goal,
            {**EVENT, "filters": [{"field": "country", "value": "DE"}]},
            r"'filters\[0\].operator' is missing",
        ),
        (
            Goal,
            {**EVENT, "valueProperty": "total"},
            "'valueProperty' is 'total'; name a property as in properties.total",
        ),
        (Goal, {**EVENT, "valueProperty": "properties."}, "'valueProperty' is 'properties.'; use"),
        (PathGroup, {"name": "a", "paths": []}, "'paths' must not be empty"),
        (PathGroup, {"name": "a", "paths": ["/a"] * 21}, "'paths' must have at most 20"),
        (PathGroup, {"name": "a", "paths": ["/a", "blog"]}, r"'paths\[1\]' is 'blog'; begin it"),
        (PathGroup, {"name": "a", "paths": ["/\0"]}, r"'paths\[0\]' has a null character"),
        (Segment, {"name": "a", "filters": []}, "'filters' is empty; a segment has at least one"),
        (Segment, {"name": "a"}, "'filters' is missing"),
        (
            Segment,
            {"name": "a", "filters": [{**GERMAN, "operator": "in", "value": ["x" * 200] * 99}]},
            f"'filters' has 20,1.. bytes as JSON; at most {MAX_FILTERS_BYTES:,} are allowed",
        ),
        (
            Segment,
            {"name": "a", "filters": [GERMAN, {"field": "nothing", "op": "is_null"}]},
            "Unknown column 'nothing' in table 'events'",
        ),
        (
            Segment,
            {
                "name": "a",
                "filters": [
                    {"field": "name", "op": "is_null"},
                    {"field": "error_type", "op": "is_null"},
                ],
            },
            "Unknown column 'error_type' in table 'events'",
        ),
        (Annotation, {"start": "2026-02-30", "text": "a"}, "'start' is '2026-02-30'"),
        (Annotation, {"start": "yesterday", "text": "a"}, "'start' is 'yesterday'; use a date"),
        (
            Annotation,
            {"start": "2026-11-01T12:00:00", "text": "a"},
            "'start' is '2026-11-01T12:00:00'; use a date .* with offset",
        ),
        (
            Annotation,
            {"start": "2026-11-02", "end": "2026-11-01", "text": "a"},
            "'end' is 2026-11-01, which is before 'start' 2026-11-02",
        ),
        (
            Annotation,
            {"start": "2026-11-02", "end": "2026-11-03T00:00:00Z", "text": "a"},
            "'start' and 'end' must both be dates, or both be instants",
        ),
        (Annotation, {"start": "1969-12-31", "text": "a"}, "'start' must be between 1970-01-01"),
        (Annotation, {"start": "2026-11-02", "text": " "}, "'text' must have 1 to 1000"),
        (Annotation, {"start": "2026-11-02", "text": "N" * 1001}, "'text' must have at most 1,000"),
        (
            Annotation,
            {"start": "2026-11-02", "text": "a", "link": "javascript:alert(1)"},
            "'link' must be an http or https URL",
        ),
        (MoneyProperty, MONEY, "A money property has either 'currency' or 'currencyProperty'"),
        (
            MoneyProperty,
            {**MONEY, "currency": "EUR", "currencyProperty": "properties.currency"},
            "A money property has either 'currency' or 'currencyProperty'",
        ),
        (MoneyProperty, {**MONEY, "currency": "XXY"}, "'currency' is 'XXY'; give a code of ISO"),
        (
            MoneyProperty,
            {**MONEY, "property": "total", "currency": "EUR"},
            "'property' is 'total'; name a property as in properties.total",
        ),
    ],
)
def test_the_error_names_the_field_and_the_rule(
    kind: type[SavedRecord], members: dict[str, Any], error: str
) -> None:
    with pytest.raises(Malformed, match=error.replace("'properties.'", "'properties\\.'")):
        valid(kind, **members)


def test_the_columns_of_a_segment_are_of_one_table() -> None:
    columns = ("country", "error_type"), ("entry_path", "is_bounce"), ("metric_name",)
    for names in columns:
        filters = [{"field": name, "op": "is_not_null"} for name in names]
        assert valid(Segment, name="a", filters=filters).filters == tuple(filters)


def test_instants_are_stored_in_utc() -> None:
    annotation = valid(
        Annotation, start="2026-11-01T12:00+01:00", end="2026-11-01T12:00Z", text=" a ", link=""
    )

    assert (annotation.start, annotation.end) == (
        "2026-11-01T11:00:00.000Z",
        "2026-11-01T12:00:00.000Z",
    )
    assert (annotation.text, annotation.link) == ("a", None)


def test_currencies_are_stored_in_upper_case() -> None:
    assert valid(MoneyProperty, **MONEY, currency="eur").currency == "EUR"
    held = valid(MoneyProperty, **MONEY, currencyProperty="properties.currency")
    assert (held.currency, held.currency_property) == (None, "properties.currency")


@pytest.mark.parametrize("steps", [STEPS[:1], STEPS * 6])
def test_a_funnel_has_two_to_ten_steps(steps: list[dict[str, str]]) -> None:
    with pytest.raises(Malformed, match="steps"):
        valid(Funnel, name="a", steps=steps)


def test_goals_and_segments_of_steps_are_looked_up_later() -> None:
    steps = [{"goal": "Bought"}, {"path": "/", "filters": [{"segment": "Germans"}]}]

    assert len(valid(Funnel, name="a", steps=steps).steps) == 2


@pytest.mark.parametrize(
    ("members", "error"),
    [({"by": "page"}, "'by'"), ({"window": 0}, "'window' must be at least 1")],
)
def test_a_funnel_has_the_options_of_a_query(members: dict[str, Any], error: str) -> None:
    with pytest.raises(Malformed, match=error):
        valid(Funnel, name="a", steps=STEPS, **members)


@pytest.mark.parametrize(
    ("kind", "members", "place"),
    [
        (Funnel, {"name": "a", "steps": [{"event": "e"}, {"path": "/\0"}]}, "steps[1].path"),
        (Segment, {"name": "a", "filters": [{**GERMAN, "value": "D\0"}]}, "filters[0].value"),
        (Goal, {**EVENT, "filters": [{"not": {**GERMAN, "value": "\0"}}]}, "filters[0].not.value"),
        (Goal, {**EVENT, "event": "e\0"}, "event"),
    ],
)
def test_a_null_character_is_named_with_its_place(
    kind: type[SavedRecord], members: dict[str, Any], place: str
) -> None:
    with pytest.raises(Malformed, match=re.escape(f"'{place}' has a null character; remove it")):
        valid(kind, **members)


def test_a_label_and_a_text_are_seen() -> None:
    unseen = "has no character that is seen, only U\\+3164; give it one"
    with pytest.raises(Malformed, match=rf"'steps\[1\].label' {unseen}"):
        valid(Funnel, name="a", steps=[STEPS[0], {**STEPS[1], "label": "\u3164"}])
    with pytest.raises(Malformed, match=f"'text' {unseen}"):
        valid(Annotation, start="2026-11-05", text="\u3164")
    with pytest.raises(Malformed, match=f"'name' {unseen}"):
        valid(Goal, name="\u3164", event="e")


OWN = "which is or looks like an id or key of Tidemark's own"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("web_abcDEF123456", f"'name' is 'web_abcDEF123456', {OWN}"),
        ("org_abcDEF1234", f"'name' is 'org_abcDEF1234', {OWN}"),
        ("lnk_abcDEF123456", f"'name' is 'lnk_abcDEF123456', {OWN}"),
        ("tm_abc_def", f"'name' is 'tm_abc_def', {OWN}"),
        ("a\r\nb", r"'name' has the control character U\+000D; remove it"),
        ("a\x1b[31m", r"'name' has the control character U\+001B; remove it"),
    ],
)
def test_an_alias_is_no_id_of_ours(name: str, error: str) -> None:
    with pytest.raises(Malformed, match=f"^{error}"):
        valid(Alias, product="segment", name=name)


@pytest.mark.parametrize(
    ("product", "name"),
    [("plausible", "shop.example"), ("segment", "Shop.Example."), ("snowplow", "Shop.Example.")],
)
def test_a_domain_of_plausible_has_one_form(product: str, name: str) -> None:
    assert valid(Alias, product=product, name="Shop.Example.").name == name


def test_a_domain_of_plausible_is_not_empty() -> None:
    with pytest.raises(Malformed, match=r"^'name' is '\.'; give a domain$"):
        valid(Alias, product="plausible", name=".")


BY_DAY = {"table": "events", "selects": [{"aggregate": "count", "field": "*"}]}


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({}, "An exploration has either 'metricsQuery' or 'customQuery'; give one of them"),
        (
            {"metricsQuery": {"metrics": ["visitors"]}, "customQuery": {"query": BY_DAY}},
            "An exploration has either 'metricsQuery' or 'customQuery'; give one of them",
        ),
        (
            {"metricsQuery": {"metrics": ["visitrs"]}},
            "Unknown metric 'visitrs'",
        ),
        (
            {"metricsQuery": {"metrics": ["p75_lcp"], "dimensions": ["name"]}},
            "The metric 'p75_lcp' is of table 'vitals', whose rows have no 'name'",
        ),
        (
            {"metricsQuery": {"metrics": ["visits"], "filters": [CONTRY]}},
            r"'filters\[0\]\.field'; did you mean 'country'\?",
        ),
        ({"metricsQuery": {"metrics": ["visits"], "preset": "yesterdy"}}, "'yesterday'"),
        ({"metricsQuery": {"metrics": ["visits"], "timezone": "Mars"}}, "'timezone'"),
        ({"customQuery": {"query": {**BY_DAY, "table": "event"}}}, "did you mean 'events'"),
        ({"customQuery": {"query": BY_DAY, "timezone": "Mars"}}, "'timezone'"),
        ({"customQuery": {"query": BY_DAY, "compare": "last"}}, "Unknown comparison 'last'"),
        (
            {"metricsQuery": {"metrics": ["visits"]}, "shape": "pie"},
            "'shape'",
        ),
        ({"metricsQuery": {"metrics": ["visits"]}, "shape": "bar\n"}, "'shape'"),
        ({"metricsQuery": {"metrics": ["visits"], "preset": ""}}, "Unknown preset ''"),
        ({"metricsQuery": {"metrics": ["visits"], "asOf": {"events": 1}}}, "'asOf'"),
        (
            {
                "customQuery": {
                    "query": {**BY_DAY, "groupBy": ["time:minute"]},
                    "startDate": "2026-01-01",
                    "endDate": "2026-11-30",
                }
            },
            "gives 480,960 data points",
        ),
        (
            {"metricsQuery": {"metrics": ["visits"]}, "description": "\u200b"},
            "'description' has no character that is seen",
        ),
    ],
)
def test_an_exploration_has_a_query_that_its_endpoint_takes(
    members: dict[str, Any], error: str
) -> None:
    with pytest.raises(Malformed, match=error):
        valid(Exploration, name="a", **members)


@pytest.mark.parametrize(
    "metrics",
    [
        [{"metric": "revenue"}],
        [{"metric": "revenue", "currency": "usd"}, {"metric": "revenue", "currency": "EUR"}],
        [{"metric": "revenue", "money": "Orders", "currency": "USD"}],
        [{"metric": "conversions", "goal": "Purchase"}],
        [{"metric": "conversion_value", "goal": "Purchase"}],
    ],
)
def test_saved_records_of_an_exploration_are_looked_up_when_it_is_asked(metrics: Any) -> None:
    filters = [{"segment": "Germans"}, {"field": "goal", "operator": "eq", "value": "Purchase"}]

    exploration = valid(
        Exploration, name="a", metricsQuery={"metrics": metrics, "filters": filters}
    )

    assert exploration.metrics_query == {"metrics": metrics, "filters": filters}


def test_an_exploration_names_the_key_that_created_it() -> None:
    body = convert_body(
        BODIES[Exploration].new, {"name": "a", "customQuery": {"query": BY_DAY, "limit": 5}}
    )

    exploration: Any = new_record(Exploration, SHOP, body, NOW, SECRET, "Anna")

    assert exploration.created_by == "Anna"
    assert exploration.custom_query == {"query": BY_DAY, "limit": 5}
    assert exploration.metrics_query is None
    with pytest.raises(Malformed, match="createdBy"):
        convert_body(BODIES[Exploration].new, {"name": "a", "createdBy": "Bob"})


@pytest.mark.parametrize(
    ("tiles", "problem"),
    [
        ([{}], "'tiles[0]' has one of 'exploration', 'card' and 'text'"),
        ([{"text": "a"}, {"text": "a", "card": "pages"}], "'tiles[1]' has one of"),
        ([{"card": "weather"}], "'tiles[0].card'"),
        ([{"text": "a", "width": 4}], "'tiles[0].width'"),
        ([{"text": "a", "height": 4}], "height"),
        ([{"text": " "}], "'tiles[0].text'"),
        ([{"text": "a"}] * 51, "'tiles'"),
    ],
)
def test_a_tile_of_a_board_shows_one_thing(tiles: Any, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        valid(Board, name="a", tiles=tiles)

    assert problem in str(refused.value)


def test_a_board_keeps_the_order_of_its_tiles() -> None:
    tiles = [{"text": "first", "width": 3}, {"card": "goals", "title": "Then"}]

    assert valid(Board, name=" a ", tiles=tiles).tiles == tuple(tiles)
