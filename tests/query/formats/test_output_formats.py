"""Formats: the same rows as JSON, CSV, NDJSON, Arrow and Parquet, chosen by name or by `Accept`."""

import subprocess
import sys
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import fields

from query.formats.output_formats import FILE_FORMATS
from query.formats.result_table import declared_columns
from query.request.subject import SubjectKind
from query.standard.query_types import FAMILIES, QUERY_TYPES
from tests.query.formats.answer_formats import (
    HEADERS,
    READERS,
    read_arrow,
    read_csv,
    read_parquet,
    standard,
)
from tests.query.lake import a_click, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.query.query_service import NOVEMBER, InProcessService, start_service

ALL_TYPES = [query_type for family in FAMILIES for query_type in family]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A little of everything."""
    running = start_service(tmp_path_factory.mktemp("busy"))
    running.holds(a_view("/a", referrer_name="X", country="DE"), a_view("/b", visitor="u2"))
    running.holds(
        an_event("signup", properties='{"plan": "pro"}'), an_outbound_click("https://x.example/")
    )
    running.holds(an_error("boom"), a_vital("LCP", 2.5), a_click())
    return running


def test_every_format_but_json_has_a_reader_here() -> None:
    assert set(READERS) == {format_.name for format_ in FILE_FORMATS}


@pytest.mark.parametrize("name", ["ndjson", "arrow", "parquet", "xlsx"])
def test_a_standard_answer_has_the_same_rows_in_every_format(
    service: InProcessService, name: str
) -> None:
    expected = standard(service, "top_pages").json["data"][0]["data"]

    rows = READERS[name](standard(service, "top_pages", format=name).body)

    assert [row["name"] for row in rows] == ['/a "quoted", über', "/b"]
    assert rows == expected


def test_instants_are_instants_where_a_format_has_them(service: InProcessService) -> None:
    [arrow] = read_arrow(standard(service, "outbound_links", format="arrow").body)
    [parquet] = read_parquet(standard(service, "outbound_links", format="parquet").body)
    [text] = read_csv(standard(service, "outbound_links", format="csv").body)

    at = datetime(2026, 11, 10, 12, 0, 0, 125_000, UTC)
    assert arrow["last_clicked"] == parquet["last_clicked"] == at
    assert text["last_clicked"] == "2026-11-10T12:00:00.125Z"
    assert arrow["text"] == text["text"] == "line\nbreak"


@pytest.mark.parametrize("name", HEADERS)
def test_an_answer_without_rows_names_its_columns(service: InProcessService, name: str) -> None:
    reply = standard(service, "error_types", format=name)

    assert HEADERS[name](reply.body) == list(QUERY_TYPES["error_types"].row.__struct_fields__)


def test_every_query_type_has_columns_of_a_known_kind() -> None:
    for query_type in QUERY_TYPES.values():
        columns = declared_columns(query_type.row)

        assert [column.name for column in columns] == [
            field.encode_name for field in fields(query_type.row)
        ], query_type.name


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_a_custom_answer_has_the_columns_that_were_asked(
    service: InProcessService, name: str
) -> None:
    query = {
        "table": "events",
        "selects": [
            {"field": "*", "aggregate": "count", "alias": "n"},
            {"field": "ts", "aggregate": "max", "alias": "last"},
            {"field": "time_on_page", "aggregate": "avg", "alias": "seconds"},
        ],
        "groupBy": ["path", "is_bot"],
        "orderBy": [{"field": "path", "direction": "asc"}],
    }
    reply = service.ask(
        "POST",
        "/v1/query/custom",
        {"query": query, **NOVEMBER},
        website_id="shop",
        format=name,
    )

    noon = datetime(2026, 11, 10, 12, tzinfo=UTC)
    there = {"is_bot": False, "last": noon, "seconds": None}
    assert READERS[name](reply.body) == [
        {"path": '/a "quoted", über', "n": 2, **there},
        {"path": "/b", "n": 1, **there},
        {"path": None, "n": 1, **there, "last": noon.replace(microsecond=125_000)},
    ]


def test_a_service_that_wrote_no_columns_has_not_loaded_pyarrow() -> None:
    # In a process of its own, because the tests write their lake with it.
    program = "import sys, query.app; print('pyarrow' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("step", [1, pytest.param(0, marks=pytest.mark.long)])
def test_every_query_type_is_a_table_in_every_format(
    busy: InProcessService, subtests: pytest.Subtests, step: int
) -> None:
    """Each type in one format, and each format with many types; in the long run all pairs."""
    names = list(READERS)
    for number, query_type in enumerate(ALL_TYPES):
        with subtests.test(query_type.name):
            link = query_type.subject is SubjectKind.LINK
            query_parameters = {
                **(msgspec.to_builtins(query_type.example) or {}),
                "name": query_type.name,
            }
            where = {"link_id": "go"} if link else {"website_id": "shop"}
            who = {"session_id": "s1", "anonymous_id": "u1"}
            filters = [
                {"field": n, "operator": "eq", "value": who[n]} for n in query_type.required_filters
            ]
            body = {"parameters": [query_parameters], "filters": filters, **NOVEMBER}
            counts = set()

            for name in [names[number % len(names)]] if step else names:
                reply = busy.ask("POST", "/v1/query", body, **where, format=name)
                assert reply.status == 200, reply.body
                counts.add(len(READERS[name](reply.body)))

            expected = busy.ask("POST", "/v1/query", body, **where).json["data"][0]["data"]
            assert counts == {len(expected)}
