"""The page of a list of sessions or visitors is the same, whichever way its keys are found."""

import asyncio
from itertools import product
from typing import Any

import numpy as np
import pytest

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.prepared.listed_keys import KeyList, ListedKeys
from query.request.order import OrderTerm
from query.standard.declaration.fields import field_specs
from query.standard.page_keys import find_page_keys, find_prepared_keys
from query.standard.query_types import QUERY_TYPES
from schemas.errors import ResultTooLarge
from schemas.telemetry.instruments import LIST_PAGES
from tests.query.query_service import NOVEMBER, InProcessService
from tests.query.standard.test_page_keys import a_visit, lists

LISTS = ("session_list", "interesting_sessions", "profile_list")


def entry(service: InProcessService, name: str, prepared: str = "true", **more: Any) -> Any:
    body = {"parameters": [name], **NOVEMBER, **more}
    reply = service.ask("POST", "/v1/query", body, website_id="shop", prepared=prepared)
    assert reply.status == 200, reply.body
    return reply.json["data"][0]


def make_parts(service: InProcessService) -> None:
    entry(service, "session_list")
    assert service.results is not None
    asyncio.run(service.results.make_pending())


@pytest.mark.parametrize(
    "name",
    [
        "session_list",
        *(
            pytest.param(n, marks=pytest.mark.long)
            for n in ("profile_list", "interesting_sessions")
        ),
    ],
)
def test_pages_are_those_of_the_stored_rows_in_any_order(
    service: InProcessService, name: str
) -> None:
    lists(service)
    make_parts(service)
    fields = [f for f, spec in field_specs(QUERY_TYPES[name].row).items() if spec.suffixes]
    orders: list[Any] = [
        [{"field": f, "direction": d}] for f, d in product(fields, ("asc", "desc"))
    ]

    for order, number in product([[], *orders], (1, 3)):
        more = {"orderBy": order, "limit": 3, "page": number}
        found, expected = (entry(service, name, each, **more) for each in ("true", "false"))

        assert found == expected, more
        assert found["meta"]["totalRows"] == 10


@pytest.mark.parametrize(
    "name", [LISTS[0], *(pytest.param(n, marks=pytest.mark.long) for n in LISTS[1:])]
)
@pytest.mark.parametrize(
    ("more", "by_rows"),
    [
        ({}, False),
        pytest.param(
            {"orderBy": [{"field": "page_views", "direction": "asc"}]},
            False,
            marks=pytest.mark.long,
        ),
        ({"orderBy": [{"field": "country", "direction": "asc"}]}, True),
        *(
            pytest.param(more, True, marks=pytest.mark.long)
            for more in (
                {"filters": [{"field": "path", "op": "eq", "value": "/"}]},
                {"prepared": "false"},
                {"include_bots": True},
            )
        ),
    ],
)
def test_stored_rows_are_searched_only_where_parts_have_no_answer(
    service: InProcessService,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    more: dict[str, Any],
    by_rows: bool,
) -> None:
    lists(service)
    make_parts(service)
    searched = []
    counter = LIST_PAGES.labels("rows" if by_rows else "prepared")
    before = counter._value.get()

    async def noted(*wanted: Any) -> Any:
        searched.append(wanted)
        return await find_page_keys(*wanted)

    monkeypatch.setattr("query.standard.plan.find_page_keys", noted)

    assert entry(service, name, **more)["success"]

    assert bool(searched) is by_rows
    assert counter._value.get() == before + 1


@pytest.mark.parametrize("name", LISTS)
def test_a_page_that_is_asked_for_again_runs_no_statement(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lists(service)
    make_parts(service)
    entry(service, name)  # sums up the rows without a part
    first, second = entry(service, name, limit=2), entry(service, name, limit=2, page=2)
    run = []
    rows = DuckDBEngine.rows

    async def noted(self: DuckDBEngine, sql: Sql, seconds: float) -> list[Row]:
        run.append(sql)
        return await rows(self, sql, seconds)

    monkeypatch.setattr(DuckDBEngine, "rows", noted)

    assert entry(service, name, limit=2) == first
    assert entry(service, name, limit=2, page=2) == second != first
    assert not run
    assert entry(service, name, prepared="false", limit=2) == first
    assert run
    run.clear()
    service.holds(*a_visit(20, minute=50))
    assert entry(service, name, limit=2)["meta"]["totalRows"] == 11
    assert run


INTERESTING = QUERY_TYPES["interesting_sessions"].listing.page_keys
ONE = np.array([1])


def found(order: OrderTerm | None, asked: list[KeyList]) -> Any:
    """What is found where the counts of errors are too many to be read."""

    async def keys_of(form: KeyList) -> ListedKeys:
        asked.append(form)
        return ListedKeys(ONE, ONE, ONE, dict.fromkeys(form.fields, (ONE, ONE)))

    async def fetch(_statement: Any) -> Any:
        raise ResultTooLarge("too many rows")

    assert INTERESTING is not None
    scope: Any = None  # used only where there are keys
    orders = [order] if order else []
    return asyncio.run(find_prepared_keys(INTERESTING, scope, orders, 10, keys_of, fetch))


def test_counts_that_are_too_many_leave_the_search_to_stored_rows() -> None:
    asked: list[KeyList] = []

    assert found(None, asked) is None
    assert len(asked) == 1


def test_parts_are_not_read_for_an_order_that_they_do_not_have() -> None:
    asked: list[KeyList] = []

    assert found(OrderTerm(field="country", direction="asc"), asked) is None
    assert not asked
