"""What compile says of a standard query is what the query does: engine, prepared results, error."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from query.prepared import not_prepared
from query.request.subject import SubjectKind
from query.standard.declaration.query_type import QueryType
from query.standard.plan import NO_FORM, OTHER_FILTERS
from query.standard.query_types import FAMILIES, QUERY_TYPES
from tests.query.engine.trino.coordinator import Coordinator, coordinator
from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.standard.diverse_rows import ROWS

EVERY = [query_type for family in FAMILIES for query_type in family]
COUNT_PAGE = {"columns": [{"name": "_col0", "type": "bigint"}], "data": [[0]]}
REQUIRED = {"session_id": "s1", "anonymous_id": "u1"}
PATH_FILTER = {"field": "path", "operator": "eq", "value": "/1"}


@pytest.fixture(scope="module")
def prepared_service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A service that has made the parts of all rows, of all kinds."""
    service = start_service(tmp_path_factory.mktemp("prepared"))
    service.holds(*ROWS)
    ask(service, "/v1/query", "summary", "paths", "vitals_overview", "slow_pages")
    make_parts(service)
    return service


def make_parts(service: InProcessService) -> None:
    assert service.results is not None
    asyncio.run(service.results.make_pending())


def ask(
    service: InProcessService,
    path: str,
    *parameters: object,
    subject: Mapping[str, str] | None = None,
    url: Mapping[str, str] | None = None,
    **more: Any,
) -> Any:
    """The entries of the response."""
    body = {"parameters": list(parameters), **NOVEMBER, **more}
    where = {**(subject or {"website_id": "shop"}), **(url or {})}
    reply = service.ask("POST", path, body, **where)
    assert reply.status == 200, reply.body
    return reply.json["data"]


def compile_query(service: InProcessService, *parameters: object, **more: Any) -> Any:
    return ask(service, "/v1/query/compile", *parameters, **more)


def request_of(query_type: QueryType, **more: Any) -> dict[str, Any]:
    """A request of a type, with what it needs."""
    filters = [
        {"field": name, "op": "eq", "value": REQUIRED[name]} for name in query_type.required_filters
    ]
    is_link = query_type.subject is SubjectKind.LINK
    subject = {"link_id": "go"} if is_link else {"website_id": "shop"}
    return {"subject": subject, **({"filters": filters} if filters else {}), **more}


def parameter_of(query_type: QueryType) -> dict[str, Any]:
    own = msgspec.to_builtins(query_type.example) if query_type.example else {}
    return {"name": query_type.name, **own}


def assert_agreement(compiled: Any, answered: Any) -> None:
    """Compile says what the meta of the answer says."""
    assert compiled["success"] is answered["success"] is True, (compiled, answered)
    assert compiled["parameter"] == answered["parameter"]
    meta = answered["meta"]
    assert compiled["prepared"] is meta.get("prepared", False), compiled
    assert compiled.get("engine") == meta.get("engine")
    assert ("reason" in compiled) is not compiled["prepared"]


@pytest.mark.parametrize("url", [{}, {"prepared": "false"}], ids=["", "stored rows"])
def test_every_type_does_what_compile_says(
    prepared_service: InProcessService, url: Mapping[str, str], subtests: pytest.Subtests
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            request = request_of(query_type, url=url)

            [compiled] = compile_query(prepared_service, parameter_of(query_type), **request)
            [answered] = ask(prepared_service, "/v1/query", parameter_of(query_type), **request)

            assert_agreement(compiled, answered)
            if query_type.rollup_plan(query_type.example) is None:
                assert compiled["reason"] == NO_FORM
            elif url:
                assert compiled["reason"] == "the request has prepared=false"
            else:
                assert compiled["prepared"] is True
            assert compiled["sql"].startswith(("SELECT", "WITH"))
            assert all(f"${name}" in compiled["sql"] for name in compiled["values"])
            assert str(prepared_service.data) not in str(compiled)


def test_some_types_have_prepared_rows() -> None:
    assert sum(query_type.prepared is not None for query_type in EVERY) > 10


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"filters": [PATH_FILTER]}, OTHER_FILTERS),
        ({"include_bots": True}, "rollups have no events of bots"),
        ({"person": "profile"}, "rollups count devices, not profiles"),
        ({"subject": {"website_id": "shop,blog"}}, "a rollup has one website"),
        ({"granularity": "minute", "startDate": "2026-11-30"}, not_prepared.OTHER_QUARTERS),
        ({"startDate": "2026-11-30 23:50:00"}, not_prepared.NO_QUARTER),
        ({"compare": "previous_period"}, None),
        ({"limit": 1, "page": 2}, None),
    ],
)
def test_the_reason_is_that_of_the_request(
    prepared_service: InProcessService, more: dict[str, Any], reason: str | None
) -> None:
    [compiled] = compile_query(prepared_service, "events_by_date", **more)
    [answered] = ask(prepared_service, "/v1/query", "events_by_date", **more)

    assert_agreement(compiled, answered)
    assert compiled.get("reason") == reason
    assert compiled.get("further") == (["comparison"] if "compare" in more else None)


def test_rows_without_parts_are_read_until_there_are_some(service: InProcessService) -> None:
    service.holds(a_view("/"), a_view("/", website="rival"))

    [before] = compile_query(service, "summary")
    [first] = ask(service, "/v1/query", "summary")
    make_parts(service)
    [after] = compile_query(service, "summary")
    [second] = ask(service, "/v1/query", "summary")

    assert_agreement(before, first)
    assert before["reason"] == not_prepared.NO_ROLLUPS
    assert_agreement(after, second)
    assert after["prepared"] is True


def test_without_disk_they_are_switched_off(tmp_path: Path) -> None:
    service = start_service(tmp_path, prepared_mb=0)
    service.holds(a_view("/"))

    [compiled] = compile_query(service, "summary")

    assert compiled["reason"] == not_prepared.SWITCHED_OFF


@pytest.fixture(scope="module")
def played() -> Iterator[Coordinator]:
    with coordinator() as running:
        yield running


@pytest.fixture(scope="module")
def distributed(tmp_path_factory: pytest.TempPathFactory, played: Coordinator) -> InProcessService:
    """A service whose queries are all answered by Trino."""
    service = start_service(
        tmp_path_factory.mktemp("distributed"), engine=played.address, engine_mb=0
    )
    service.holds(*ROWS)
    return service


def test_every_type_is_answered_by_the_engine_that_compile_names(
    distributed: InProcessService, played: Coordinator, subtests: pytest.Subtests
) -> None:
    for query_type in EVERY:
        with subtests.test(query_type.name):
            request, parameter = request_of(query_type), parameter_of(query_type)

            [answered] = ask(distributed, "/v1/query", parameter, **request)
            played.answers, before = [COUNT_PAGE], played.answers
            try:
                [compiled] = compile_query(distributed, parameter, **request)
            finally:
                played.answers = before

            assert compiled["success"], compiled
            assert compiled["engine"] == "trino"
            assert "FOR VERSION AS OF" in compiled["sql"] or not compiled["tables"][0]["rows"]
            form = query_type.rollup_plan(query_type.example)
            assert compiled["reason"] == (not_prepared.OTHER_ENGINE if form else NO_FORM)
            if answered["success"]:  # some cannot do without a row
                assert_agreement(compiled, answered)


def test_small_queries_stay_on_duckdb(tmp_path: Path, played: Coordinator) -> None:
    service = start_service(tmp_path, engine=played.address, engine_mb=1)
    service.holds(*ROWS)

    [compiled] = compile_query(service, "summary")
    [answered] = ask(service, "/v1/query", "summary")

    assert_agreement(compiled, answered)
    assert compiled["engine"] == "duckdb"


def test_the_rows_are_those_of_the_subject_in_the_time_range(service: InProcessService) -> None:
    service.holds(*(a_view(path, at="2026-11-10T12:00:00Z") for path in ("/", "/b")))
    service.holds(a_view("/", at="2026-10-01T12:00:00Z"))
    service.holds(a_view("/", website="rival", at="2026-11-10T12:00:00Z"))

    compiled = compile_query(service, "summary", "top_pages", filters=[PATH_FILTER])

    for entry in compiled:
        [events] = [table for table in entry["tables"] if table["name"] == "events"]
        assert events == {"name": "events", "version": 3, "rows": 2}


def test_nothing_is_told_of_the_rows_of_others(service: InProcessService) -> None:
    service.holds(a_view("/"))
    [alone] = compile_query(service, "summary")

    service.holds(*(a_view(f"/{n}", website="rival") for n in range(50)))
    [beside] = compile_query(service, "summary")

    for entry in (alone, beside):
        for table in entry["tables"]:
            table.pop("version")
    assert alone == beside


def test_each_query_fails_alone_and_as_the_query_itself(service: InProcessService) -> None:
    service.holds(a_view("/"))
    wrong = [
        "sumary",
        "summary",
        {"name": "funnel"},
        {"name": "top_pages", "orderBy": [{"field": "nothing"}]},
        "realtime_visitors",
    ]

    compiled = compile_query(service, *wrong, compare="previous_period")
    answered = ask(service, "/v1/query", *wrong, compare="previous_period")

    assert [entry["success"] for entry in compiled] == [entry["success"] for entry in answered]
    assert [entry.get("error") for entry in compiled] == [entry.get("error") for entry in answered]
    assert [entry.get("code") for entry in compiled] == [entry.get("code") for entry in answered]
    assert not all(entry["success"] for entry in compiled)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"parameters": []}, "'parameters' "),
        ({"parameters": "summary"}, "'parameters' "),
        ({"parameters": ["summary"], "limitt": 3}, "limit"),
        ([], "body"),
        ({"query": {}}, "'query"),
    ],
)
def test_a_wrong_body_is_refused(service: InProcessService, body: object, error: str) -> None:
    reply = service.ask("POST", "/v1/query/compile", body, website_id="shop")

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")
    assert error in reply.json["error"]


def test_a_wrong_switch_is_refused(service: InProcessService) -> None:
    body = {"parameters": ["summary"], **NOVEMBER}

    reply = service.ask("POST", "/v1/query/compile", body, website_id="shop", prepared="no")

    assert reply.status == 400
    assert reply.json["error"] == "'prepared' is 'no'; it must be true or false"


def test_a_list_that_finds_its_page_first_says_so(prepared_service: InProcessService) -> None:
    paged = [t.name for t in EVERY if t.listing.page_keys and t.subject is SubjectKind.WEBSITE]
    paged = [name for name in paged if not QUERY_TYPES[name].required_filters]
    assert paged

    for entry in compile_query(prepared_service, *paged):
        assert "page_keys" in entry["further"]
    for entry in compile_query(prepared_service, *paged, page=200, limit=1000):
        assert "page_keys" not in entry.get("further", [])


def test_newest_rows_are_found_first_in_the_own_order(prepared_service: InProcessService) -> None:
    order = [{"field": "path", "direction": "asc"}]

    [own] = compile_query(prepared_service, "custom_events_recent")
    [by_path] = compile_query(prepared_service, "custom_events_recent", orderBy=order)

    assert own["further"] == ["newest_rows"]
    assert "further" not in by_path
