"""One more endpoint needs its declaration only: then it has a route and a description."""

from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.app import ENDPOINTS, OPENAPI_SERVICE
from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.response.json_response import json_response
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope
from tests.query.query_service import InProcessService, reused, start_service


class WebsiteCount(Struct):
    """Number of websites of the organization."""

    websites: int


async def count_websites(dependencies: QueryDependencies, request: Request) -> Response:
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.QUERY)
    websites = dependencies.registry.websites.values()
    own = [website for website in websites if website.organization_id == key.organization_id]
    return json_response(WebsiteCount(len(own)))


COUNT_WEBSITES = QueryEndpoint(
    count_websites,
    openapi.Operation(
        method="GET",
        path="/v1/website-count",
        operation_id="countWebsites",
        tag="Websites",
        summary="Count the websites of the organization",
        responses=(openapi.Response(200, "the number", WebsiteCount),),
        errors=KEY_ERRORS,
    ),
)


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path, endpoints=(*ENDPOINTS, COUNT_WEBSITES))


def test_one_more_endpoint_is_served(service: InProcessService) -> None:
    reply = service.ask("GET", "/v1/website-count")

    assert (reply.status, reply.json) == (200, {"websites": 2})
    assert service.ask("GET", "/v1/website-count", key=None).status == 401


def test_one_more_endpoint_takes_its_method_only(service: InProcessService) -> None:
    reply = service.ask("POST", "/v1/website-count", {})

    assert reply.status == 405
    assert reply.headers["allow"] == "GET, HEAD"


def test_one_more_endpoint_is_documented(service: InProcessService) -> None:
    document = service.ask("GET", "/openapi.json", key=None).json

    operation = document["paths"]["/v1/website-count"]["get"]
    assert operation["operationId"] == "countWebsites"
    assert set(operation["responses"]) == {"200", "401", "403", "429", "431", "503"}
    assert "WebsiteCount" in document["components"]["schemas"]
    assert len(document["paths"]) == len({o.path for o in OPENAPI_SERVICE.operations}) + 1
