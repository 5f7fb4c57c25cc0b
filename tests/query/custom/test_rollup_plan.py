"""Which custom queries parts answer, and of which rows."""

from datetime import date
from typing import Any

import msgspec
import pytest

from query.custom.request import CustomQueryBody
from query.custom.rollup_plan import rollup_plan_of
from query.custom.validation import validate
from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup_tables import FACTS, PAGES
from query.prepared.row_columns import ALL_ROWS, OTHER_ROWS, RowSource, view_rows
from query.prepared.row_groups import CountedField, RowGroups
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filter_struct import Filter
from query.request.time_range import time_range

SPAN = time_range(date(2026, 11, 1), date(2026, 11, 2), "UTC", 40)
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
VIEW = {"field": "name", "operator": "eq", "value": "screen_view"}
ANY_VIEW = {"field": "name", "operator": "in", "value": ["pageview", "screen_view"]}
NO_VIEW = {"field": "name", "operator": "not_in", "value": ["screen_view", "page_exit", "pageview"]}
EVENT = {"field": "name", "operator": "eq", "value": "Sign up"}
PATH = {"field": "path", "operator": "starts_with", "value": "/a"}
COUNTRY = {"field": "country", "operator": "eq", "value": "DE"}


def found(**more: Any) -> RowGroups:
    body = {"table": "events", "selects": [COUNT], **more}
    query = msgspec.convert(body, CustomQueryBody)
    return rollup_plan_of(query, validate(query), SPAN)


def views(*, by_path: bool, first: bool = True, second: bool = False) -> RowSource:
    return view_rows(PAGES if by_path else FACTS, first_name=first, second_name=second)


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ({}, ALL_ROWS),
        ({"groupBy": ["country", "channel", "time:day"], "filters": [COUNTRY]}, ALL_ROWS),
        ({"groupBy": ["host", "country"], "filters": [VIEW]}, views(by_path=False)),
        ({"groupBy": ["path", "device_type"], "filters": [VIEW]}, views(by_path=True)),
        ({"filters": [PATH, ANY_VIEW]}, views(by_path=True, second=True)),
        ({"filters": [ANY_VIEW, VIEW]}, views(by_path=False)),
        (
            {"filters": [{"field": "name", "op": "eq", "value": "pageview"}]},
            views(by_path=False, first=False, second=True),
        ),
        ({"groupBy": ["name", "path", "href", "country"], "filters": [EVENT]}, OTHER_ROWS),
        ({"filters": [{"or": [EVENT, {**EVENT, "value": "signup"}]}]}, OTHER_ROWS),
        ({"groupBy": ["name"], "filters": [NO_VIEW]}, OTHER_ROWS),
        ({"filters": [{"field": "outbound_domain", "op": "contains", "value": "."}]}, OTHER_ROWS),
        ({"table": "outbound", "groupBy": ["domain", "text"]}, OTHER_ROWS),
        ({"table": "outbound", "filters": [VIEW]}, OTHER_ROWS),
    ],
    ids=str,
)
def test_the_rows_that_a_query_counts(more: dict[str, Any], source: RowSource) -> None:
    assert found(**more).source == source


OF_KIND = "of these rows; of one kind of events they have"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"table": "errors"}, "'events' and 'outbound', not 'errors'"),
        ({"table": "sessions"}, "'events' and 'outbound', not 'sessions'"),
        (
            {"selects": [{"field": "scroll_depth", "aggregate": "avg"}]},
            "rollups have the aggregates count and uniq, not 'avg'",
        ),
        ({"selects": [{"field": "title", "aggregate": "uniq"}]}, "do not have 'title'"),
        ({"groupBy": ["title"]}, "do not have 'title' of these rows$"),
        ({"groupBy": ["event.channel"]}, "do not have 'channel'"),
        ({"groupBy": ["visit.landing_host"]}, "do not have 'visit.landing_host'"),
        ({"groupBy": ["visitor.is_new"]}, "do not have 'visitor.is_new'"),
        ({"groupBy": ["properties.plan"]}, "do not have 'properties.plan'"),
        ({"groupBy": ["path"]}, f"do not have 'path' {OF_KIND}"),
        ({"groupBy": ["name"], "filters": [VIEW]}, f"do not have 'name' {OF_KIND}"),
        ({"groupBy": ["name"]}, f"do not have 'name' {OF_KIND}"),
        ({"filters": [PATH]}, f"do not have 'path' {OF_KIND}"),
        ({"filters": [VIEW, {**VIEW, "value": "pageview"}]}, f"do not have 'name' {OF_KIND}"),
        ({"filters": [{"or": [VIEW, EVENT]}]}, f"do not have 'name' {OF_KIND}"),
        ({"filters": [{"or": [VIEW, COUNTRY]}]}, f"do not have 'name' {OF_KIND}"),
        (
            {"filters": [{"field": "name", "op": "eq", "value": "page_exit"}]},
            f"do not have 'name' {OF_KIND}",
        ),
        (
            {"filters": [{"field": "name", "op": "not_in", "value": ["screen_view"]}]},
            f"do not have 'name' {OF_KIND}",
        ),
        (
            {"filters": [{"field": "outbound_domain", "op": "ne", "value": "a.example"}]},
            f"do not have 'outbound_domain' {OF_KIND}",
        ),
        (
            {"filters": [{"field": "traits.plan", "op": "eq", "value": "pro"}]},
            "do not have 'traits.plan'",
        ),
        ({"filters": [{"has_done": {"event": "Sign up"}}]}, "do not have what visitors did"),
    ],
    ids=str,
)
def test_parts_do_not_have_what_other_queries_name(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotPrepared, match=reason):
        found(**more)


def test_groups_and_what_is_counted() -> None:
    own = found(
        selects=[
            COUNT,
            {"field": "anonymous_id", "aggregate": "uniq"},
            {"field": "country", "aggregate": "count"},
        ],
        groupBy=["channel", "visit.entry_page", "time:week", "time:hour_of_day"],
    )

    assert own.groups == (
        "visit.channel", "visit.entry_page", Granularity.WEEKLY, DatePart.HOUR_OF_DAY,
    )  # fmt: skip
    assert own.counted == (
        CountedField(),
        CountedField("anonymous_id", True),
        CountedField("country"),
    )
    assert own.fields == ["visit.channel", "visit.entry_page", "country"]


def test_filters_name_what_parts_have() -> None:
    channel = {"field": "channel", "operator": "eq", "value": "Direct"}
    own = found(filters=[{"or": [COUNTRY, {"not": channel}]}, {"and": [COUNTRY]}])

    assert msgspec.json.decode(own.filters, type=list[Filter]) == [
        Filter(
            any_of=[
                Filter("country", "eq", value="DE"),
                Filter(none_of=Filter("visit.channel", "eq", value="Direct")),
            ]
        ),
        Filter(all_of=[Filter("country", "eq", value="DE")]),
    ]


def test_conditions_on_counts_name_their_column() -> None:
    own = found(
        groupBy=["country"],
        having=[
            {"field": "n", "operator": "in", "value": [2, 2.5]},
            {"field": "n", "operator": "is_not_null"},
        ],
    )

    assert msgspec.json.decode(own.having, type=list[Filter]) == [
        Filter("1", "in", value=[2.0, 2.5]),
        Filter("1", "is_not_null"),
    ]
