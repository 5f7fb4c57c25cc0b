"""A custom query is explained without being run."""

from tests.query.custom.custom_requests import ask
from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService


def test_a_query_is_explained_without_being_run(service: InProcessService) -> None:
    service.holds(*(a_view(path, at="2026-11-10T12:00:00Z") for path in ("/", "/b")))
    service.holds(a_view("/", at="2026-10-01T12:00:00Z"))
    service.holds(a_view("/", website="rival", at="2026-11-10T12:00:00Z"))
    filters = [{"field": "path", "op": "eq", "value": "/"}]

    body = ask(service, {"filters": filters}, "/v1/query/compile").json

    assert body["success"]
    assert body["tables"] == [{"name": "events", "version": 3, "rows": 2}]
    assert body["values"] == {
        "subject": "shop",
        "start": "2026-11-01T00:00:00.000Z",
        "end": "2026-12-01T00:00:00.000Z",
        "f0_0": "/",
        "limit": 1000,
        "offset": 0,
    }
    assert all(f"${name}" in body["sql"] for name in body["values"])
    assert str(service.data) not in str(body)


def test_an_explanation_tells_nothing_of_the_rows_of_others(service: InProcessService) -> None:
    service.holds(a_view("/"))
    alone = ask(service, {}, "/v1/query/compile").json

    service.holds(*(a_view(f"/{n}", website="rival") for n in range(50)))
    beside = ask(service, {}, "/v1/query/compile").json

    [before], [after] = alone.pop("tables"), beside.pop("tables")
    assert alone == beside
    assert {**before, "version": None} == {**after, "version": None}


def test_what_cannot_be_asked_cannot_be_explained(service: InProcessService) -> None:
    reply = ask(service, {"table": "event"}, "/v1/query/compile")

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")


def test_a_metrics_query_is_explained(service: InProcessService) -> None:
    service.holds(a_view("/"), a_view("/b", website="rival"))
    metrics = {"metrics": ["visits"], "dimensions": ["path"], "compare": "previous_period"}

    body = service.ask("POST", "/v1/query/compile", {**metrics, **NOVEMBER}, website_id="shop").json

    assert body["success"]
    assert body["tables"] == [{"name": "events", "version": 1, "rows": 1}]
    assert body["further"] == ["comparison"]
    assert all(f"${name}" in body["sql"] for name in body["values"])


def test_the_members_of_a_body_decide_its_language(service: InProcessService) -> None:
    reply = service.ask("POST", "/v1/query/compile", {"metrics": [], **NOVEMBER}, website_id="shop")

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")
    assert "'metrics'" in reply.json["error"]
