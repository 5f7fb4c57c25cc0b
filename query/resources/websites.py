"""Websites: create, list, read, update, delete.

A website of another organization answers like one that does not exist.
"""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.pagination import list_page, page_parameters
from query.resources.record_access import (
    read_changes,
    read_record,
    require_whole_organization,
    write_record,
)
from query.resources.website_bodies import (
    NewWebsite,
    WebsiteChanges,
    WebsiteListResponse,
    WebsiteResponse,
    given_members,
    website_resource,
)
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import Key, KeyScope, Website
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.validation import new_website, validate_website_fields

NOT_CONFIRMED = (
    "'domain' in the query string must be that of the website, which confirms that its keys, saved "
    "records and access to its events end"
)


async def create_website(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/websites: 201 with the new website; 409 when there are too many."""
    key = require_whole_organization(await _authorize_write(dependencies, request))
    body = await read_json(request, NewWebsite)
    now = dependencies.clock()
    website = new_website(key.organization_id, now_ms=now, **given_members(body))
    store = dependencies.store_for(key)
    await write_record(dependencies, Website, lambda: store.create(website))
    return _website_response(website, 201)


async def list_websites(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/websites: one page of those that the key has access to, oldest first."""
    key = await authorize_read(dependencies, request)
    where = {"organization_id": key.organization_id, "id": key.website_id}
    return await list_page(dependencies, request, Website, where, website_resource)


async def show_website(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/websites/{id}."""
    key = await authorize_read(dependencies, request)
    return _website_response(await website_of_key(dependencies, key, request))


async def update_website(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/websites/{id}: update the fields that the body names."""
    key = await _authorize_write(dependencies, request)
    website = await website_of_key(dependencies, key, request)
    changes = validate_website_fields(given_members(await read_changes(request, WebsiteChanges)))
    store, now = dependencies.store_for(key), dependencies.clock()
    updated = await write_record(
        dependencies, Website, lambda: store.update(Website, website.id, now, **changes)
    )
    return _website_response(updated)


async def delete_website(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/websites/{id}: with all records that belong to it; stored events stay."""
    key = require_whole_organization(await _authorize_write(dependencies, request))
    website = await website_of_key(dependencies, key, request)
    if request.query_params.get("domain") != website.domain:
        raise Malformed(NOT_CONFIRMED)
    store = dependencies.store_for(key)
    await write_record(dependencies, Website, lambda: store.delete(Website, website.id))
    return json_response(SuccessResponse(success=True))


async def authorize_read(dependencies: QueryDependencies, request: Request) -> Key:
    """The key of a request that reads websites."""
    scopes = KeyScope.READ_DATA, Group.RECORDS, KeyScope.MANAGE_WEBSITES
    return await dependencies.authorize(request, *scopes)


async def website_of_key(dependencies: QueryDependencies, key: Key, request: Request) -> Website:
    """The website that the path names; NotFound."""
    return await read_record(dependencies, key, Website, request.path_params["website_id"])


async def _authorize_write(dependencies: QueryDependencies, request: Request) -> Key:
    return await dependencies.authorize(request, KeyScope.MANAGE_WEBSITES, Group.RECORDS)


def _website_response(website: Website, status: int = 200) -> Response:
    return json_response(WebsiteResponse(success=True, data=website_resource(website)), status)


WEBSITE_PATH = "/v1/websites/{website_id}"
ID_PARAMETER = openapi.Parameter("website_id", "the website", required=True, location="path")
_every = partial(openapi.Operation, path="/v1/websites", tag="Websites")
_one = partial(openapi.Operation, path=WEBSITE_PATH, tag="Websites")

_ENDPOINTS = (
    QueryEndpoint(
        create_website,
        _every(
            method="POST",
            operation_id="createWebsite",
            summary="Create a website",
            description="The key needs `manage:websites` and must not be restricted to one "
            f"website. An organization has at most {MAX_RECORDS[Website]:,} websites.",
            body=NewWebsite,
            examples={"a website": {"domain": "shop.example", "timezone": "Europe/Berlin"}},
            responses=(openapi.Response(201, "the website", WebsiteResponse),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
        ),
    ),
    QueryEndpoint(
        list_websites,
        _every(
            method="GET",
            operation_id="listWebsites",
            summary="List websites that the key has access to, oldest first",
            parameters=page_parameters("websites"),
            responses=(openapi.Response(200, "one page", WebsiteListResponse),),
            errors=(*KEY_ERRORS, Malformed),
        ),
    ),
    QueryEndpoint(
        show_website,
        _one(
            method="GET",
            operation_id="showWebsite",
            summary="Show a website",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(200, "the website", WebsiteResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        update_website,
        _one(
            method="PATCH",
            operation_id="changeWebsite",
            summary="Update a website: absent fields stay",
            description="A new time zone changes the days of all results. The key needs "
            "`manage:websites`.",
            parameters=(ID_PARAMETER,),
            body=WebsiteChanges,
            examples={"origins": {"allowedOrigins": ["https://*.shop.example"]}},
            responses=(openapi.Response(200, "the website", WebsiteResponse),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        delete_website,
        _one(
            method="DELETE",
            operation_id="deleteWebsite",
            summary="Delete a website and the records that belong to it",
            description="Its keys, imports and saved records end at once, and nothing is accepted "
            "for it any more. Its events stay in the tables, where no key has access to them. The "
            "key needs `manage:websites` and must not be restricted to one website.",
            parameters=(
                ID_PARAMETER,
                openapi.Parameter("domain", "that of the website, to confirm", required=True),
            ),
            responses=(openapi.Response(200, "deleted", SuccessResponse),),
            errors=(*KEY_ERRORS, Malformed, NotFound),
        ),
    ),
)
ENDPOINTS = tuple(map(strict_query_string, _ENDPOINTS))
