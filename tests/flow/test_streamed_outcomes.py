"""POST /v1/query?stream=true: a line per query, then what they have in common."""

import json
from typing import Any

import pytest

from tests.flow.tenant import DAY, Tenant
from tests.http_client import Reply, call
from tests.installation import Installation

PARAMETERS = ["summary", {"name": "events_by_date", "id": "series"}, "top_pages", "no_such_type"]


@pytest.fixture(scope="module")
def tenant(stack: Installation) -> Tenant:
    return Tenant.create(stack)


def post(tenant: Tenant, body: object, query: str) -> Reply:
    url = f"{tenant.stack.query_url}/v1/query?website_id={tenant.website.id}{query}"
    return call("POST", url, body, {"x-api-key": tenant.key, "content-type": "application/json"})


def body_of(*parameters: object) -> dict[str, Any]:
    return {"parameters": parameters, "startDate": str(DAY), "endDate": str(DAY), "id": "mine"}


def test_lines_are_the_entries_of_the_response_and_its_other_members(tenant: Tenant) -> None:
    whole = post(tenant, body_of(*PARAMETERS), "")
    streamed = post(tenant, body_of(*PARAMETERS), "&stream=true")

    *lines, end = [json.loads(line) for line in streamed.body.splitlines()]
    assert streamed.headers["content-type"] == "application/x-ndjson"
    by_name = {line["parameter"]: line for line in lines}
    assert by_name == {entry["parameter"]: entry for entry in whole.json["data"]}
    assert len(lines) == len(PARAMETERS)
    assert (end["success"], end["queryId"], end["failed"]) == (True, "mine", 1)
    assert end["meta"]["versions"] == whole.json["meta"]["versions"]


def test_a_query_of_its_own_is_compared(tenant: Tenant) -> None:
    compared = {"name": "summary", "id": "compared", "compare": "previous_period"}
    [first, second] = post(tenant, body_of(compared, "summary"), "").json["data"]
    assert "comparison" in first
    assert "comparison" not in second

    body = {
        **body_of({"name": "summary", "compare": None}, "top_pages"),
        "compare": "previous_year",
    }
    [first, second] = post(tenant, body, "").json["data"]
    assert ("comparison" in first, "comparison" in second) == (False, True)


@pytest.mark.parametrize(
    ("body", "query", "words"),
    [
        (body_of("summary"), "&stream=yes", "'stream' is 'yes'; it must be true or false"),
        (body_of("summary"), "&stream=true&format=csv", "'stream' is for one request"),
        ([body_of("summary")], "&stream=true", "'stream' is for one request"),
        (body_of(), "&stream=true", "parameters"),
    ],
)
def test_what_cannot_be_streamed_is_refused(
    tenant: Tenant, body: object, query: str, words: str
) -> None:
    reply = post(tenant, body, query)
    assert reply.status == 400
    assert words in reply.json["error"]
