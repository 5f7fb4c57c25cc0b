"""Unknown parameters of a query string."""

import pytest

from tests.query.query_service import NOVEMBER, InProcessService

STANDARD = {"parameters": ["summary"], **NOVEMBER}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "/v1/query?websiteId=shop",
            "Unknown parameter 'websiteId' in the query string; did you mean 'website_id'?",
        ),
        (
            "/v1/query?website_id=shop&preset=today",
            "Unknown parameter 'preset' in the query string; it belongs in the body",
        ),
        (
            "/v1/query?website_id=shop&website_id=blog",
            "'website_id' is given 2 times in the query string; give it once",
        ),
        (
            "/v1/query?website_id=shop&timezon=UTC",
            "Unknown parameter 'timezon' in the query string; did you mean 'timezone'?",
        ),
        (
            "/v1/query/compile?website_id=shop&limit=1",
            "Unknown parameter 'limit' in the query string; it belongs in the body",
        ),
        (
            "/v1/query",
            "Give either 'website_id' or 'link_id' in the query string, as in ?website_id=…; the "
            "body does not name it",
        ),
    ],
)
def test_an_unknown_parameter_of_a_query_is_refused(
    service: InProcessService, target: str, said: str
) -> None:
    reply = service.ask("POST", target, STANDARD)

    assert (reply.status, reply.json["error"]) == (400, said)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/v1/export/events?website_id=shop&preset=today&filter=[]", "did you mean 'filters'?"),
        ("/v1/export/events?website_id=shop&start_date=x", "did you mean 'startDate'?"),
        ("/v1/query/types?includeMeta=true", "did you mean 'include_meta'?"),
        ("/v1/query/tables?table=events", "Unknown parameter 'table' in the query string"),
    ],
)
def test_an_unknown_parameter_of_other_routes_is_refused(
    service: InProcessService, target: str, said: str
) -> None:
    reply = service.ask("GET", target)

    assert reply.status == 400
    assert said in reply.json["error"]


RESOURCES = (
    "links",
    "imports",
    "goals",
    "segments",
    "annotations",
    "money",
    "shares",
    "funnels",
    "explorations",
)


@pytest.mark.parametrize("resource", RESOURCES)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_parameter_of_a_resource_is_refused(
    service: InProcessService, resource: str, method: str
) -> None:
    reply = service.ask(method, f"/v1/{resource}?limt=1", {} if method == "POST" else None)

    assert reply.status == 400
    assert reply.json["error"].startswith("Unknown parameter 'limt' in the query string; ")
    assert method == "POST" or reply.json["error"].endswith("did you mean 'limit'?")


@pytest.mark.parametrize(
    ("method", "resource"),
    [
        (method, resource)
        for method in ("GET", "PATCH", "DELETE")
        for resource in RESOURCES
        if (method, resource) != ("PATCH", "imports")
    ],
)
def test_an_unknown_parameter_of_one_record_is_refused(
    service: InProcessService, method: str, resource: str
) -> None:
    reply = service.ask(method, f"/v1/{resource}/x?force=true", {} if method == "PATCH" else None)

    none = "there are none, leave it out"
    known = none if resource in ("links", "imports") else "known are website_id"
    assert reply.status == 400
    assert reply.json["error"] == f"Unknown parameter 'force' in the query string; {known}"
