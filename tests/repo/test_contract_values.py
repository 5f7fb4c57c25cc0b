"""Promises that hold for every value of a kind, so that a new one is under test when it exists."""

import inspect

import pytest

from schemas import errors
from schemas.errors import ApiError, RateLimitExceeded, Unavailable
from schemas.http.error_bodies import collect_error, query_error
from schemas.kinds import KINDS, TABLES, Kind
from schemas.plans import PLANS, Group
from schemas.tables import IMPORTED_TOTALS, Column, ColumnType, Table

REFUSALS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, ApiError) and kind is not ApiError
]


def example(kind: type[ApiError]) -> ApiError:
    if issubclass(kind, RateLimitExceeded):
        return kind(120, "2026-11-21T10:00:00.000Z", 30)
    if issubclass(kind, Unavailable):
        return kind("Kafka cannot be reached", 5)
    return kind("'name' is missing")


@pytest.mark.parametrize("kind", REFUSALS)
def test_every_failure_has_the_body_of_the_query_api(kind: type[ApiError]) -> None:
    body = query_error(example(kind))

    assert body["success"] is False
    assert isinstance(body["error"], str)
    assert body["code"] == kind.code


@pytest.mark.parametrize("kind", REFUSALS)
def test_every_failure_has_the_body_of_the_collection_api(kind: type[ApiError]) -> None:
    body = collect_error(example(kind))

    assert body["status"] == "error"
    assert isinstance(body["message"], str)
    assert body["code"] == kind.code


def test_an_exceeded_limit_has_the_same_body_everywhere() -> None:
    failure = RateLimitExceeded(120, "2026-11-21T10:00:00.000Z", 30)
    expected = {
        "success": False,
        "error": "Rate limit exceeded. Please try again later.",
        "code": "RATE_LIMIT_EXCEEDED",
        "limit": 120,
        "remaining": 0,
        "reset": "2026-11-21T10:00:00.000Z",
        "retryAfter": 30,
    }

    assert query_error(failure) == expected
    assert {k: collect_error(failure)[k] for k in expected} == expected


@pytest.mark.parametrize("kind", REFUSALS)
def test_every_failure_has_a_status_of_its_own_kind(kind: type[ApiError]) -> None:
    assert 400 <= kind.status <= 503
    assert kind.__doc__


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_limits_every_group(plan: str) -> None:
    assert set(PLANS[plan]) == set(Group)
    assert PLANS[plan][Group.CUSTOM].requests < PLANS[plan][Group.QUERY].requests


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_every_table_is_ordered_by_columns_that_it_has(table: Table) -> None:
    names = [column.name for column in table.columns]

    assert set(table.sort_order) <= set(names)
    assert len(names) == len(set(names))
    if table is not IMPORTED_TOTALS:
        assert table.sort_order[-4:] == ("epoch", "kafka_partition", "kafka_offset", "seq")
    assert table.column("day") == Column(
        "day", ColumnType.DATE, "UTC day of receipt; the partition, not in the file", public=False
    )


def test_every_kind_has_a_topic_and_a_table_of_its_own() -> None:
    assert len({kind.topic for kind in KINDS}) == len(KINDS)
    assert len({kind.table.name for kind in KINDS}) == len(KINDS)
    assert len({kind.name for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_can_be_queried(kind: Kind) -> None:
    """Queries leave out bots, and bound what they read by subject and time."""
    needed = {kind.table.subject_column, kind.table.time_column, "is_bot", "received_at"}

    assert needed <= {column.name for column in kind.table.columns}
    assert kind.description
    assert bool(kind.examples) == bool(kind.path)
