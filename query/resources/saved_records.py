"""Saved records of websites: create, read, update, delete, list.

A record of another tenant answers like one that does not exist.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.pagination import list_page, page_parameters
from query.resources.record_access import read_changes, read_record, write_record
from query.resources.saved_types import (
    SAVED_TYPES,
    SavedType,
    given_fields,
    new_record,
    resource,
    with_link,
)
from query.resources.saved_validation import validate_record
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import authorize_website, require_scope
from schemas.plans import Group
from schemas.registry import Key, KeyScope, SavedRecord, Website
from schemas.registry.record_limits import MAX_RECORDS


async def create(saved: SavedType, dependencies: QueryDependencies, request: Request) -> Response:
    """POST: 201 with the new record; 409 when the name is taken, or there are too many."""
    key = await _authorize_write(saved, dependencies, request)
    website = _website(dependencies, key, request)
    body = await read_json(request, saved.bodies.new)
    record = new_record(saved.record, website, body, dependencies.clock())
    record, once = with_link(record)
    store = dependencies.store_for(key)
    await write_record(dependencies, saved.record, lambda: store.create(record))
    return json_response({"success": True, "data": {**resource(record), **once}}, 201)


async def list_all(saved: SavedType, dependencies: QueryDependencies, request: Request) -> Response:
    """GET: one page of the website's records, oldest first."""
    key = await _authorize_read(dependencies, request)
    where = {"website_id": _website(dependencies, key, request).id}
    return await list_page(dependencies, request, saved.record, where, resource)


async def show(saved: SavedType, dependencies: QueryDependencies, request: Request) -> Response:
    """GET of one."""
    key = await _authorize_read(dependencies, request)
    return _record_response(await _record_of_tenant(saved, dependencies, key, request))


async def update(saved: SavedType, dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH: update the fields that the body names."""
    key = await _authorize_write(saved, dependencies, request)
    record = await _record_of_tenant(saved, dependencies, key, request)
    changes = given_fields(await read_changes(request, saved.bodies.changes))
    store, now = dependencies.store_for(key), dependencies.clock()

    def write() -> SavedRecord:
        return store.revise(record, now, lambda it: validate_record(replace(it, **changes)))

    return _record_response(await write_record(dependencies, saved.record, write))


async def delete(saved: SavedType, dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE."""
    key = await dependencies.authorize(request, KeyScope.MANAGE_WEBSITES, Group.RECORDS)
    record = await _record_of_tenant(saved, dependencies, key, request)
    store = dependencies.store_for(key)
    await write_record(dependencies, saved.record, lambda: store.delete(saved.record, record.id))
    return json_response(SuccessResponse(success=True))


async def _authorize_read(dependencies: QueryDependencies, request: Request) -> Key:
    return await dependencies.authorize(request, KeyScope.READ_DATA, Group.RECORDS)


async def _authorize_write(
    saved: SavedType, dependencies: QueryDependencies, request: Request
) -> Key:
    manages, *others = saved.scopes
    key = await dependencies.authorize(request, manages, Group.RECORDS)
    for scope in others:
        require_scope(key, scope)
    return key


def _website(dependencies: QueryDependencies, key: Key, request: Request) -> Website:
    website_id = request.query_params.get("website_id") or key.website_id
    if website_id is None:
        raise Malformed("'website_id' is missing in the query string, as in ?website_id=…")
    return authorize_website(dependencies.registry, key, website_id)


async def _record_of_tenant(
    saved: SavedType, dependencies: QueryDependencies, key: Key, request: Request
) -> SavedRecord:
    record_id = request.path_params[_id_name(saved)]
    record = await read_record(dependencies, key, saved.record, record_id)
    if request.query_params.get("website_id", record.website_id) != record.website_id:
        raise NotFound(f"No such {saved.word} of this website")
    return record


def _record_response(record: SavedRecord, status: int = 200) -> Response:
    return json_response({"success": True, "data": resource(record)}, status)


def _id_name(saved: SavedType) -> str:
    """The name of the id in the path."""
    return f"{saved.word.replace(' ', '_')}_id"


WEBSITE_PARAMETER = openapi.Parameter(
    "website_id", "the website; default: that of a key which is restricted to one"
)
OWN_WEBSITE_PARAMETER = openapi.Parameter("website_id", "the website of the record; not needed")


def _endpoints(saved: SavedType) -> Iterator[QueryEndpoint]:
    word, bodies = saved.word, saved.bodies
    needed = " and ".join(f"`{scope}`" for scope in saved.scopes)
    every = partial(_operation, saved, saved.path)
    one = partial(_operation, saved, f"{saved.path}/{{{_id_name(saved)}}}")
    id_parameter = openapi.Parameter(_id_name(saved), f"the {word}", required=True, location="path")
    yield QueryEndpoint(
        partial(create, saved),
        every(
            method="POST",
            operation_id=f"create{saved.record.__name__}",
            summary=f"Create {saved.a_word}",
            description=f"{saved.description} The key needs {needed}. A website has at "
            f"most {MAX_RECORDS[saved.record]:,} {saved.words}.",
            parameters=(WEBSITE_PARAMETER,),
            body=bodies.new,
            examples={saved.a_word: saved.example},
            responses=(openapi.Response(201, f"the {word}", bodies.response),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
        ),
    )
    yield QueryEndpoint(
        partial(list_all, saved),
        every(
            method="GET",
            operation_id=f"list{saved.words.title().replace(' ', '')}",
            summary=f"List {saved.words}, oldest first",
            parameters=(WEBSITE_PARAMETER, *page_parameters(saved.words)),
            responses=(openapi.Response(200, "one page", bodies.page),),
            errors=(*KEY_ERRORS, Malformed),
        ),
    )
    yield QueryEndpoint(
        partial(show, saved),
        one(
            method="GET",
            operation_id=f"show{saved.record.__name__}",
            summary=f"Show {saved.a_word}",
            parameters=(id_parameter, OWN_WEBSITE_PARAMETER),
            responses=(openapi.Response(200, f"the {word}", bodies.response),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    )
    yield QueryEndpoint(
        partial(update, saved),
        one(
            method="PATCH",
            operation_id=f"change{saved.record.__name__}",
            summary=f"Update {saved.a_word}: absent fields stay, null clears a field",
            description=f"The key needs {needed}.",
            parameters=(id_parameter, OWN_WEBSITE_PARAMETER),
            body=bodies.changes,
            examples={f"changes of {saved.a_word}": saved.changes},
            responses=(openapi.Response(200, f"the {word}", bodies.response),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict, NotFound),
        ),
    )
    yield QueryEndpoint(
        partial(delete, saved),
        one(
            method="DELETE",
            operation_id=f"delete{saved.record.__name__}",
            summary=f"Delete {saved.a_word}",
            parameters=(id_parameter, OWN_WEBSITE_PARAMETER),
            responses=(openapi.Response(200, "deleted", SuccessResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    )


def _operation(saved: SavedType, path: str, **described: Any) -> openapi.Operation:
    return openapi.Operation(path=path, tag=saved.words.capitalize(), **described)


ENDPOINTS = tuple(
    strict_query_string(endpoint) for saved in SAVED_TYPES for endpoint in _endpoints(saved)
)
