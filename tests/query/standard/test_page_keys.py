"""A page of a long list is computed from its own sessions or visitors only."""

from itertools import product
from operator import itemgetter
from typing import Any

import pytest

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.standard.declaration.fields import field_specs
from query.standard.query_types import QUERY_TYPES
from tests.query.lake import Stored, a_view, an_error, an_event, an_outbound_click
from tests.query.query_service import InProcessService

LISTS = {
    "session_list": "first_visit",
    "interesting_sessions": "interesting_score",
    "profile_list": "last_visit",
}
"""By what each is ordered."""


def a_visit(number: int, minute: int) -> list[Stored]:
    """A session of its own visitor: two pages, what was done there, and what failed."""
    who: Any = {"session": f"s{number}", "visitor": f"u{number}"}
    at = [f"2026-11-{10 + number % 3}T12:{minute:02d}:{second:02d}Z" for second in range(4)]
    return [
        a_view("/", country="DE", referrer_name=f"r{number}", at=at[0], **who),
        an_event("signup", at=at[1], **who),
        an_outbound_click("https://a.example/", at=at[1], **who),
        a_view(f"/{number}", country="FR", at=at[2], **who),
        an_error("lost", at=at[3], **who),
    ]


def page(
    service: InProcessService, name: str, number: int, size: int = 2, **more: Any
) -> tuple[list[Any], int]:
    """The rows of one page, and how many there are in all."""
    [entry] = service.query({"name": name}, limit=size, page=number, **more).json["data"]
    return entry["data"], entry["meta"]["totalRows"]


def lists(service: InProcessService) -> None:
    """Nine sessions of nine visitors, of which some rank alike, and one without a referrer."""
    service.holds(
        *(row for n in range(9) for row in a_visit(n, minute=n // 6)),
        a_view(None, session="s9", visitor="u9", at="2026-11-10T12:00:00Z"),
        a_view("/9", session="s9", visitor="u9", country="AT", at="2026-11-10T12:03:00Z"),
    )


@pytest.mark.parametrize("name", LISTS)
def test_pages_are_those_of_the_whole_list_also_when_rows_rank_alike(
    service: InProcessService, name: str
) -> None:
    lists(service)
    order = [{"field": LISTS[name], "direction": "desc"}]
    whole = service.rows(name, limit=500)

    pages = [page(service, name, n) for n in range(1, 7)]

    assert pages == [page(service, name, n, orderBy=order) for n in range(1, 7)]
    assert [row for rows, _ in pages for row in rows] == whole
    assert [(len(rows), total) for rows, total in pages] == [(2, 10)] * 5 + [(0, 10)]


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
def test_pages_in_the_order_of_any_field_are_those_of_the_sorted_list(
    service: InProcessService, name: str
) -> None:
    lists(service)
    whole = service.rows(name, limit=500)
    fields = [f for f, spec in field_specs(QUERY_TYPES[name].row).items() if spec.suffixes]

    for field, direction in product(fields, ("asc", "desc")):
        known = [row for row in whole if row[field] is not None]
        known.sort(key=itemgetter(field), reverse=direction == "desc")
        unknown = [row for row in whole if row[field] is None]
        order = [{"field": field, "direction": direction}]
        pages = [page(service, name, n, size=4, orderBy=order) for n in (1, 2, 3)]

        assert [row for rows, _ in pages for row in rows] == [*known, *unknown], order
        assert {total for _, total in pages} == {10}


@pytest.mark.parametrize("name", LISTS)
def test_a_second_order_decides_between_rows_that_are_alike_in_the_first(
    service: InProcessService, name: str
) -> None:
    lists(service)
    terms = [("page_views", False), ("country", True), ("first_visit", False)]
    expected = service.rows(name, limit=500)
    for field, descending in reversed(terms):
        expected = sorted(expected, key=lambda row: row[field] or "", reverse=descending)
    order = [{"field": f, "direction": "desc" if down else "asc"} for f, down in terms]

    pages = [page(service, name, n, orderBy=order) for n in range(1, 6)]

    assert [row for rows, _ in pages for row in rows] == expected


def test_a_page_says_all_about_its_sessions_and_nothing_of_others(
    service: InProcessService,
) -> None:
    service.holds(*a_visit(0, minute=0), *a_visit(3, minute=5))

    [newest] = service.rows("session_list", limit=1)

    assert newest["session_id"] == "s3"
    assert (newest["country"], newest["referrer"], newest["page_views"]) == ("DE", "r3", 2)
    assert [event[2] for event in newest["events"]] == [
        "screen_view",
        "signup",
        "outbound_click",
        "screen_view",
    ]


def test_events_of_two_makings_of_a_topic_are_told_apart_at_the_same_place_and_instant(
    service: InProcessService,
) -> None:
    second, first, old = an_event("second"), an_event("first"), an_event("old")
    for row, epoch in ((second, 3), (first, 2), (old, None)):
        row.values |= {"kafka_offset": 7, "epoch": epoch, "session_id": "s1"}
    service.lake.holds(second, first, as_they_are=True)
    service.lake.holds(old, as_they_are=True, without=("epoch",))

    one = [{"field": "session_id", "op": "eq", "value": "s1"}]
    events = service.rows("session_events", filters=one)

    assert [event["event_id"] for event in events] == ["0-7-0", "2-0-7-0", "3-0-7-0"]
    assert [event["event_name"] for event in events] == ["old", "first", "second"]


@pytest.mark.parametrize("name", ["session_list", "interesting_sessions"])
def test_what_visitors_did_in_other_visits_counts_on_a_page(
    service: InProcessService, name: str
) -> None:
    service.holds(
        a_view("/", session="s1", channel="Organic Search", at="2026-11-10T12:00:00Z"),
        a_view("/", session="s2", channel="Direct", at="2026-11-11T12:00:00Z"),
        a_view("/", session="s3", visitor="u2", channel="Direct", at="2026-11-11T13:00:00Z"),
    )
    searched = {"filters": [{"field": "visit.channel", "op": "eq", "value": "Organic Search"}]}

    pages = [page(service, name, n, filters=[{"has_done": searched}]) for n in (1, 2)]

    assert [total for _, total in pages] == [2, 2]
    assert {row["session_id"] for row in pages[0][0]} == {"s1", "s2"}
    [newest] = service.rows(name, limit=1, filters=[{"has_done": searched}])
    assert newest["session_id"] == "s2" or name == "interesting_sessions"


def test_data_files_without_a_row_of_the_page_are_not_read(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(6):  # three days, each with data files of its own
        service.holds(*a_visit(n, minute=n))
    read: list[list[str]] = []
    rows = DuckDBEngine.rows

    async def noted(self: DuckDBEngine, sql: Sql, seconds: float) -> list[Row]:
        read.append(sorted({path.split("day=")[1][:10] for path in sql.data_files}))
        return await rows(self, sql, seconds)

    monkeypatch.setattr(DuckDBEngine, "rows", noted)
    found, total = page(
        service,
        "session_list",
        1,
        orderBy=[{"field": "session_id", "direction": "asc"}],
        filters=[{"field": "session_id", "op": "in", "value": ["s0", "s3", "s5"]}],
    )

    assert ([row["session_id"] for row in found], total) == (["s0", "s3"], 3)
    assert read == [["2026-11-10", "2026-11-11", "2026-11-12"], ["2026-11-10"], ["2026-11-10"]]


def test_facts_of_a_session_of_the_page_come_from_before_the_range(
    service: InProcessService,
) -> None:
    """Its first page view lies in a data file where no row of the range is."""
    who: Any = {"session": "s1", "visitor": "u1"}
    service.holds(a_view("/", country="DE", at="2026-11-09T23:59:00Z", **who))
    service.holds(a_view("/a", country="FR", at="2026-11-10T00:01:00Z", **who))
    service.holds(a_view("/b", country="AT", session="s2", at="2026-11-12T12:00:00Z"))

    rows, total = page(service, "session_list", 2, 1, startDate="2026-11-10")

    assert ([(row["session_id"], row["country"]) for row in rows], total) == ([("s1", "DE")], 2)
