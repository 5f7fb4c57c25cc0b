"""OpenAPI operations: links."""

from query.resources.links import LinkChanges, NewLink
from query.resources.pagination import page_parameters
from query.response.bodies import LinkListResponse, LinkResponse, SuccessResponse
from schemas.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    PayloadTooLarge,
    RateLimitExceeded,
    RequestTimeout,
    Unauthorized,
    Unavailable,
)
from schemas.http.openapi import Operation, Parameter, Response

ERRORS: tuple[type[ApiError], ...] = (Unauthorized, Forbidden, RateLimitExceeded, Unavailable)
BODY_ERRORS: tuple[type[ApiError], ...] = (Malformed, Conflict, RequestTimeout, PayloadTooLarge)

ID = Parameter("link_id", "the link", required=True, location="path")

LINK_OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/links",
        operation_id="createLink",
        tag="Links",
        summary="Create a short link",
        description="The collector redirects /l/{slug} to the target and counts the clicks.",
        body=NewLink,
        examples={"a link": {"name": "Spring", "targetUrl": "https://shop.example/spring"}},
        responses=(Response(201, "the link", LinkResponse),),
        errors=(*ERRORS, *BODY_ERRORS),
    ),
    Operation(
        method="GET",
        path="/v1/links",
        operation_id="listLinks",
        tag="Links",
        summary="List links, oldest first",
        parameters=(
            Parameter("organizationId", "organization of the links; default: that of the API key"),
            Parameter("externalId", "only links with this external id"),
            *page_parameters("links"),
        ),
        responses=(Response(200, "one page", LinkListResponse),),
        errors=(*ERRORS, Malformed),
    ),
    Operation(
        method="GET",
        path="/v1/links/{link_id}",
        operation_id="showLink",
        tag="Links",
        summary="Show a link",
        parameters=(ID,),
        responses=(Response(200, "the link", LinkResponse),),
        errors=(*ERRORS, NotFound),
    ),
    Operation(
        method="PATCH",
        path="/v1/links/{link_id}",
        operation_id="changeLink",
        tag="Links",
        summary="Update a link: absent fields stay, null clears a field",
        parameters=(ID,),
        body=LinkChanges,
        responses=(Response(200, "the link", LinkResponse),),
        errors=(*ERRORS, *BODY_ERRORS, NotFound),
    ),
    Operation(
        method="DELETE",
        path="/v1/links/{link_id}",
        operation_id="deleteLink",
        tag="Links",
        summary="Delete a link; its clicks stay stored",
        parameters=(ID,),
        responses=(Response(200, "deleted", SuccessResponse),),
        errors=(*ERRORS, NotFound),
    ),
)
