"""What every query type promises, asked of each: a new one is under test once it is declared."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from query.duck import TYPES
from query.scoped import BUCKET, MS
from query.standard import FAMILIES, QUERY_TYPES, QueryType, Subject
from query.standard.spec import forms, index
from schemas.tables import Type
from tests.query.house import House, house
from tests.query.lake import Stored, a_click, a_click_away, a_view, an_error, an_event

EVERY = [query_type for family in FAMILIES for query_type in family]

FULL = {
    "country": "DE",
    "region": "BE",
    "city": "Berlin",
    "browser_name": "Chrome",
    "browser_version": "140",
    "os_name": "macOS",
    "device_type": "desktop",
    "referrer": "https://x.com/a",
    "referrer_name": "X",
}
MORE: dict[str, Any] = {
    "channel": "social",
    "utm_source": "s",
    "utm_medium": "m",
    "utm_campaign": "c",
    "utm_term": "t",
    "utm_content": "d",
    "language": "de",
    "timezone": "Europe/Berlin",
    **FULL,
}
ROWS: list[Stored] = [
    *(a_view(f"/{n}", session=f"s{n}", visitor=f"u{n}", **MORE) for n in range(3)),
    *(a_click_away(f"https://x{n}.example/") for n in range(3)),
    *(an_error(f"e{n}", path=f"/{n}", error_type=f"T{n}") for n in range(3)),
    *(a_click(**FULL | {"country": c, "referrer_name": c}) for c in ("DE", "FR", "IT")),
    *(an_event(f"n{n}") for n in range(3)),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> House:
    made = house(tmp_path_factory.mktemp("house"))
    made.holds(*ROWS)
    return made


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> House:
    return house(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def bare() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that has a `scoped` table and nothing else."""
    connection = duckdb.connect()
    yield connection
    connection.close()


def subject_of(query_type: QueryType) -> str:
    return "link:go" if query_type.subject is Subject.LINK else "shop"


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_needs_nothing_but_scoped_and_selects_its_row_shape(
    bare: duckdb.DuckDBPyConnection, query_type: QueryType
) -> None:
    types = {c.name: TYPES[c.type] for c in query_type.table.columns}
    types |= {MS: "BIGINT", BUCKET: "BIGINT"}
    columns = ", ".join(f"{name} {types[name]}" for name in query_type.columns)
    bare.execute(f"CREATE TABLE scoped ({columns or 'nothing INTEGER'})")
    given = ", ".join(f"{cte.name} AS ({cte.sql})" for cte in query_type.given)

    described = bare.execute(f"{'WITH ' + given if given else ''} {query_type.sql}").description

    names = [column[0] for column in described or ()]
    assert len(names) == len(query_type.selected)
    for name, wanted in zip(names, query_type.selected, strict=True):
        assert name == wanted or not re.search(r"_(part|whole|low|high|ms|count|total)$", wanted)


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_answers_an_empty_span(empty: House, query_type: QueryType) -> None:
    rows = empty.rows(query_type.name, subject=subject_of(query_type))

    assert all(list(row) == list(forms(query_type.row)) for row in rows)
    assert all(value == 0 or name == "date" for row in rows for name, value in row.items())


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_a_type_gives_rows_of_its_shape(desk: House, query_type: QueryType) -> None:
    rows = desk.rows(query_type.name, subject=subject_of(query_type))

    assert rows
    assert msgspec.convert(rows, list[query_type.row])  # type: ignore[name-defined]


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_paging_through_gives_the_whole_list_once(desk: House, query_type: QueryType) -> None:
    subject = subject_of(query_type)
    whole = desk.rows(query_type.name, subject=subject, limit=10_000)

    pages = [
        desk.rows(query_type.name, subject=subject, limit=2, page=n)
        for n in range(1, len(whole) // 2 + 2)
    ]

    assert [row for page in pages for row in page] == whole


@pytest.mark.parametrize("query_type", EVERY, ids=lambda t: t.name)
def test_the_sql_keeps_to_what_other_engines_answer_alike(query_type: QueryType) -> None:
    text = " ".join([query_type.sql, *(cte.sql for cte in query_type.given)]).upper()
    stored = {column.name for column in query_type.table.columns}
    aliases = set(re.findall(r"(?i)\bAS (\w+)", text.lower())) - {"bigint", "double"}

    for word in ("QUALIFY", "DATE_TRUNC", "AT TIME ZONE", "MEDIAN(", "ROUND(", "SELECT *", "NOW("):
        assert word not in text
    assert text.count("ORDER BY") >= 1
    assert "LIMIT" not in text
    assert not aliases & stored, aliases & stored


def test_a_name_declared_twice_stops_the_program() -> None:
    with pytest.raises(ValueError, match="'outbound_links' is declared twice"):
        index(EVERY, [QUERY_TYPES["outbound_links"]])


def test_every_column_type_is_known_to_the_engine() -> None:
    assert set(TYPES) == set(Type)


# Numbers of the types that have no test of their own family


def test_the_course_of_a_website_agrees_with_its_totals(tmp_path: Path) -> None:
    desk = house(tmp_path)
    desk.holds(
        # begins on the 10th and goes on after midnight
        a_view("/a", session="s1", at="2026-11-10T23:59:00Z"),
        a_view("/b", session="s1", at="2026-11-11T00:01:00Z"),
        a_view("/a", session="s2", visitor="u2", at="2026-11-11T09:00:00Z"),
    )
    days = {"startDate": "2026-11-10", "endDate": "2026-11-12"}

    nothing = dict.fromkeys(("pageviews", "visitors", "sessions"), 0)
    ratios = ("bounce_rate", "median_session_duration", "pages_per_session")
    assert desk.rows("events_by_date", **days) == [
        {
            "date": "2026-11-10",
            "pageviews": 1,
            "visitors": 1,
            "sessions": 1,
            "bounce_rate": 0.0,
            "median_session_duration": 120.0,
            "pages_per_session": 2.0,
        },
        {
            "date": "2026-11-11",
            "pageviews": 2,
            "visitors": 2,
            "sessions": 1,
            "bounce_rate": 100.0,
            "median_session_duration": 0.0,
            "pages_per_session": 1.0,
        },
        {"date": "2026-11-12", **nothing, **dict.fromkeys(ratios, 0.0)},
    ]
    assert desk.rows("session_metrics", **days) == [
        {
            "total_sessions": 2,
            "avg_session_duration": 60.0,
            "bounce_rate": 50.0,
            "total_events": 3,
        }
    ]


def test_the_first_and_last_pages_of_sessions(tmp_path: Path) -> None:
    desk = house(tmp_path)
    desk.holds(
        # the same instant: the order in which they were sent decides
        a_view("/in"),
        a_view("/out"),
        a_view("/in", session="s2", visitor="u2"),
    )

    assert desk.rows("entry_pages") == [
        {"name": "/in", "pageviews": 2, "visitors": 2, "percentage": 100.0}
    ]
    assert desk.rows("exit_pages") == [
        {"name": "/in", "pageviews": 1, "visitors": 1, "percentage": 50.0},
        {"name": "/out", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]


def test_custom_events_are_what_the_sender_named(tmp_path: Path) -> None:
    desk = house(tmp_path)
    desk.holds(
        a_view("/"),
        an_event("page_exit"),
        a_click_away("https://x.example/"),
        an_event("signup", properties='{"plan":"pro"}', at="2026-11-10T12:00:00Z"),
        an_event("signup", properties="{}", visitor="u2", at="2026-11-11T12:00:00Z"),
        an_event("login", path="/in"),
    )

    assert desk.rows("custom_events") == [
        {
            "name": "signup",
            "total_events": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-11T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 1,
            "percentage": 66.67,
        },
        {
            "name": "login",
            "total_events": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "last_occurrence": "2026-11-10T12:00:00.000Z",
            "first_occurrence": "2026-11-10T12:00:00.000Z",
            "events_with_properties": 0,
            "percentage": 33.33,
        },
    ]
    assert desk.rows("custom_events_summary") == [
        {
            "total_events": 3,
            "unique_event_types": 2,
            "unique_users": 2,
            "unique_sessions": 1,
            "unique_pages": 1,
        }
    ]
