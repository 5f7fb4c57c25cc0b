"""Custom queries: properties, buckets, having, pages; what they may name, and would read."""

from typing import Any

import pytest

from tests.query.custom.custom_requests import COUNT, ask, rows
from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService

# Properties


def test_a_stranger_with_huge_numbers_does_not_take_the_sum_from_others(
    service: InProcessService,
) -> None:
    total = "properties.total"
    service.holds(
        *(an_event("buy", properties=f'{{"total": {n}}}') for n in (10, 20, 1e308, 1e308))
    )

    found = rows(
        service,
        {"field": total, "aggregate": "sum", "alias": "sum"},
        {"field": total, "aggregate": "avg", "alias": "avg"},
        {"field": total, "aggregate": "p75", "alias": "p75"},
        {"field": total, "aggregate": "max", "alias": "max"},
    )

    assert found == [{"sum": 30, "avg": 15, "p75": 17.5, "max": 1e308}]


def test_properties_are_grouped_and_counted_by_their_path(service: InProcessService) -> None:
    service.holds(
        an_event("buy", properties='{"plan": "pro", "cart": {"total": 10.5}}'),
        an_event("buy", properties='{"plan": "pro", "cart": {"total": 20}}'),
        an_event("buy", properties='{"plan": "pro", "cart": {"total": "30"}}'),
        an_event("buy", properties='{"plan": 7}'),
        an_event("buy"),
    )
    total = "properties.cart.total"

    found = rows(
        service,
        COUNT,
        {"field": total, "aggregate": "sum"},
        {"field": total, "aggregate": "max", "alias": "most"},
        {"field": total, "aggregate": "count", "alias": "carts"},
        {"field": total, "aggregate": "uniq", "alias": "different"},
        groupBy=["properties.plan"],
    )

    assert found == [
        {
            "properties.plan": "pro",
            "n": 3,
            "sum_properties_cart_total": 30.5,
            "most": 20.0,
            "carts": 3,
            "different": 3,
        },
        {
            "properties.plan": "7",
            "n": 1,
            "sum_properties_cart_total": None,
            "most": None,
            "carts": 0,
            "different": 0,
        },
        {
            "properties.plan": None,
            "n": 1,
            "sum_properties_cart_total": None,
            "most": None,
            "carts": 0,
            "different": 0,
        },
    ]


# Buckets of time


def test_a_bucket_of_time_is_a_group_labelled_in_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-01T22:59:59Z"),  # the 1st in Berlin
        a_view("/", at="2026-11-01T23:00:00Z"),
        a_view("/", at="2026-11-02T12:00:00Z"),
    )
    order = [{"field": "date", "direction": "asc"}]

    body = ask(
        service, {"groupBy": ["time:daily", "path"], "orderBy": order}, timezone="Europe/Berlin"
    ).json

    assert body["data"] == [
        {"date": "2026-11-01", "path": "/", "n": 1},
        {"date": "2026-11-02", "path": "/", "n": 2},
    ]
    assert body["meta"]["partialBucket"] == "2026-11-30"
    assert rows(service, groupBy=["time:week"], orderBy=order) == [
        {"date": "2026-10-26", "n": 2},
        {"date": "2026-11-02", "n": 1},
    ]


def test_sessions_are_in_the_bucket_of_their_first_event(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1", at="2026-11-10T12:59:00Z"),
        a_view("/", session="s1", at="2026-11-10T13:01:00Z"),
        a_view("/", session="s2", at="2026-11-10T13:02:00Z"),
    )

    found = rows(service, COUNT, table="sessions", groupBy=["time:hourly"])

    assert sorted((row["date"], row["n"]) for row in found) == [
        ("2026-11-10 12:00:00", 1),
        ("2026-11-10 13:00:00", 1),
    ]


# Having and pages


def test_having_is_about_aliases_and_pages_count_all_rows(service: InProcessService) -> None:
    service.holds(*(a_view(f"/{n}") for n in range(4) for _ in range(n)))
    having = [{"or": [{"field": "n", "op": "gte", "value": 2}]}]
    query = {"groupBy": ["path"], "having": having}

    pages = [ask(service, query, limit=1, page=page).json for page in (1, 2, 3)]

    assert [page["data"] for page in pages] == [
        [{"path": "/3", "n": 3}],
        [{"path": "/2", "n": 2}],
        [],
    ]
    assert [page["meta"]["totalRows"] for page in pages] == [2, 2, 2]


def test_an_instant_of_the_result_is_compared_as_one(service: InProcessService) -> None:
    service.holds(a_view("/a", at="2026-11-01T12:00:00Z"), a_view("/b", at="2026-11-02T12:00:00Z"))
    last = {"field": "ts", "aggregate": "max", "alias": "last"}
    having = [{"field": "last", "op": "gt", "value": "2026-11-02T00:00:00Z"}]

    assert rows(service, last, groupBy=["path"], having=having) == [
        {"path": "/b", "last": "2026-11-02T12:00:00.000Z"}
    ]


def test_a_version_can_be_asked_again(service: InProcessService) -> None:
    service.holds(a_view("/"))
    versions = ask(service, {}).json["meta"]["versions"]
    service.holds(a_view("/"))

    assert ask(service, {}, asOf=versions).json["data"] == [{"n": 1}]
    assert ask(service, {}).json["data"] == [{"n": 2}]


WRONG: list[tuple[Any, str]] = [
    ({"groupBy": ["time:century"]}, "Unknown time bucket 'time:century' in 'query.groupBy[0]'"),
    ({"groupBy": ["time:day", "time:hour"]}, "'date' names two columns of the result"),
    ({"groupBy": ["time:minute"]}, "gives 43,200 data points"),
    ({"groupBy": ["properties."]}, "'query.groupBy[0]' is 'properties.'; use a path"),
    ({"having": [{"field": "path", "op": "eq", "value": "/"}]}, "Unknown column 'path' in the"),
    ({"having": [{"field": "n", "op": "eq", "value": "1"}]}, "'query.having[0].value' must be a"),
    (
        {"having": [{"field": "n", "op": "contains", "value": "1"}]},
        "operator 'contains' applies to text columns only",
    ),
]


@pytest.mark.parametrize(("query", "message"), WRONG)
def test_an_invalid_query_names_the_invalid_field(
    service: InProcessService, query: Any, message: str
) -> None:
    reply = ask(service, query)

    assert (reply.status, message in reply.json["error"]) == (400, True), reply.json
