"""Any JSON at all: an answer or a refusal, never a fault of ours; and no word of it in the SQL."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from query.custom.aggregates import AGGREGATES
from query.custom.check import check
from query.custom.compile import compiled
from query.custom.operators import OPERATORS
from query.custom.requests import Query
from query.custom.tables import CUSTOM_TABLES
from query.duck import Bounds, DuckDB
from query.scoped import Scope
from query.snapshots import Pinned
from query.span import Span
from query.standard import QUERY_TYPES
from schemas.lake import Version
from tests.query.house import NOVEMBER, House, house
from tests.query.lake import a_click, a_click_away, a_view, a_vital, an_error

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)

COLUMNS = sorted({c.name for t in CUSTOM_TABLES.values() for c in t.columns})
HOSTILE = ["'", '"', "; DROP TABLE events; --", "$subject", "{column}", "%", "\\", "\x00", "*", "é"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(HOSTILE)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
names = st.sampled_from(COLUMNS) | st.sampled_from(HOSTILE) | st.text(max_size=10)
filters = st.fixed_dictionaries(
    {"field": names, "operator": st.sampled_from([o.name for o in OPERATORS])},
    optional={"value": scalars | st.lists(scalars, max_size=3)},
)
queries = st.fixed_dictionaries(
    {
        "table": st.sampled_from(sorted(CUSTOM_TABLES)),
        "selects": st.lists(
            st.fixed_dictionaries(
                {
                    "field": names | st.just("*"),
                    "aggregate": st.sampled_from([a.name for a in AGGREGATES]),
                },
                optional={"alias": st.text(max_size=8) | st.from_regex(r"[a-z]{1,9}")},
            ),
            min_size=1,
            max_size=3,
        ),
    },
    optional={
        "filters": st.lists(filters, max_size=4),
        "groupBy": st.lists(st.sampled_from(COLUMNS), max_size=3),
        "orderBy": st.lists(st.fixed_dictionaries({"field": names}), max_size=2),
    },
)
bodies = anything | st.fixed_dictionaries(
    {"query": queries | anything, "startDate": st.just("2026-11-01")},
    optional={
        "endDate": st.just("2026-11-30") | anything,
        "timezone": st.sampled_from(["Asia/Kathmandu", "America", "localtime"]) | anything,
        "limit": st.integers() | anything,
    },
)
standards = anything | st.fixed_dictionaries(
    {
        "parameters": st.lists(st.sampled_from(sorted(QUERY_TYPES)), min_size=1, max_size=2)
        | anything,
        "startDate": st.just("2026-11-01") | anything,
        "endDate": st.just("2026-11-30") | anything,
    },
    optional={
        "granularity": st.sampled_from(["hourly", "daily"]) | anything,
        "filters": st.lists(filters, max_size=3) | anything,
        "page": st.integers() | anything,
        "limit": st.integers() | anything,
    },
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> House:
    made = house(tmp_path_factory.mktemp("house"))
    made.holds(a_view("/"), a_click_away("https://x.example/"), an_error(), a_vital("LCP", 1))
    made.holds(a_click())
    return made


def unsaid(text: str) -> bool:
    """Whether an answer keeps to itself how it is made."""
    return not re.search(r"(?i)traceback|read_parquet|\bscoped\b|\.parquet|duckdb|\.py\b", text)


@SETTINGS
@given(body=bodies)
def test_any_json_as_a_custom_query_is_answered_or_refused(desk: House, body: object) -> None:
    payload = json.dumps(body).encode()

    reply = desk.ask("POST", "/v1/query/custom", payload, website_id="shop")

    assert reply.status in (200, 400), reply.body
    assert reply.json["success"] is (reply.status == 200)
    assert unsaid(reply.json.get("error", ""))


@SETTINGS
@given(body=standards)
def test_any_json_as_a_standard_query_is_answered_or_refused(desk: House, body: object) -> None:
    payload = json.dumps(body).encode()

    reply = desk.ask("POST", "/v1/query", payload, website_id="shop")

    assert reply.status in (200, 400), reply.body
    assert unsaid(reply.json.get("error", ""))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"x"',
        b"1" * 400,
        b"[" * 100_000,
        b'{"query":' * 5_000,
        b'{"query": {"table": "\\ud800", "selects": []}}',
        b'{"a": 1e999999}',
        json.dumps({"query": {"table": "e" * 500_000, "selects": []}}).encode(),
    ],
)
def test_a_body_that_is_none_is_refused(desk: House, body: bytes) -> None:
    for path in ("/v1/query", "/v1/query/custom"):
        reply = desk.ask("POST", path, body, website_id="shop")

        assert (reply.status, reply.json["success"]) == (400, False)
        assert len(reply.json["error"]) < 400


def test_a_body_beyond_a_mebibyte_is_refused(desk: House) -> None:
    reply = desk.ask("POST", "/v1/query", b" " * 1_048_577, website_id="shop")

    assert (reply.status, reply.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


# The SQL itself


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDB]:
    folder = tmp_path_factory.mktemp("engine")
    made = DuckDB("safety", str(folder), folder / "spill", Bounds(64, 1))
    yield made
    made.close()


@SETTINGS
@given(value=st.text(min_size=1, max_size=30), name=st.from_regex(r"[a-z_]{1,20}", fullmatch=True))
def test_no_word_of_a_request_gets_into_the_sql(engine: DuckDB, value: str, name: str) -> None:
    def made(value: str, name: str) -> str:
        query = {
            "table": "sessions",
            "selects": [{"field": "duration", "aggregate": "avg", "alias": name}],
            "groupBy": ["country"],
            "filters": [{"field": "entry_path", "operator": "contains", "value": value}],
        }
        return sql_of(engine, query)

    assert made(value, name) == made("x", "y")


def sql_of(engine: DuckDB, query: dict[str, Any]) -> str:
    """The text that a query of shop becomes."""
    plan = check(msgspec.convert(query, Query))
    pinned = Pinned(Version(plan.table.stored, 0, ()), 0)
    scope = Scope(pinned, plan.table.stored.subject, "shop", Span(0, 86_400_000, "UTC"))
    return asyncio.run(compiled(engine, plan, scope, 10)).text


def test_the_widest_query_allowed_is_answered(desk: House) -> None:
    listed = {"field": "path", "operator": "in", "value": [f"/{n}" for n in range(1000)]}
    query = {
        "table": "events",
        "selects": [{"field": "path", "aggregate": "count", "alias": f"n{i}"} for i in range(20)],
        "groupBy": ["path", "name", "country", "host", "title"],
        "filters": [listed] * 50,
    }

    reply = desk.ask("POST", "/v1/query/custom", {"query": query, **NOVEMBER}, website_id="shop")

    assert reply.status == 200, reply.body
