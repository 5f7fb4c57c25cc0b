"""`/v1/account/keys`: API keys of a person, for scripts and notebooks.

Such a key may do what its scopes and the roles of the person permit at the time of the request,
and ends with the membership. Only a session of a browser makes and deletes them.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.instants import parse_instant
from query.request.query_string import strict_query_string
from query.resources.account import signed_in_person
from query.resources.keys import (
    CREATED,
    ENDED,
    KEYS,
    ApiKeyResource,
    Expiry,
    Name,
    Scopes,
    shown_key,
)
from query.resources.resource import NO_STORE, Call, Created
from query.response.json_response import json_response
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.registry import Key, KeyScope
from schemas.registry.validation import new_key

PATH = "/v1/account/keys"
MAX_PERSONAL_KEYS = 20


class NewPersonalKey(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates an API key of the person."""

    name: Name = ""
    scopes: Scopes = field(default_factory=lambda: [KeyScope.READ_DATA, KeyScope.READ_LINKS])
    expires_at: Expiry = None


class PersonalKeysResponse(Struct):
    """API keys of the person in this organization."""

    success: Literal[True]
    data: Annotated[list[ApiKeyResource], Meta(description="oldest first")]


async def create_personal_key(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: 201 with the key, whose text is shown once."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, NewPersonalKey)
    member, now = person.rights.member, dependencies.clock()
    ends_at = parse_instant("expiresAt", body.expires_at)
    key, text = new_key(
        member.organization_id, body.scopes, now, None, body.name, ends_at, member.id
    )
    if not key.is_active(now):
        raise Malformed(ENDED)
    if len(await _keys(dependencies, member.id)) >= MAX_PERSONAL_KEYS:
        raise Conflict(f"You have {MAX_PERSONAL_KEYS} personal keys, the maximum; delete one first")
    call = Call(dependencies, request, person.rights)
    await call.write(Key, lambda store: store.create(key))
    return KEYS.respond(call, Created(key, {"key": text}, NO_STORE), 201)


async def list_personal_keys(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: those of the present organization."""
    person = await signed_in_person(dependencies, request)
    keys = await _keys(dependencies, person.rights.member.id)
    data = [shown_key(key, dependencies.clock()) for key in keys]
    return json_response(PersonalKeysResponse(success=True, data=data))


async def delete_personal_key(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE: it ends at once."""
    person = await signed_in_person(dependencies, request)
    key_id = request.path_params["key_id"]
    if key_id not in {key.id for key in await _keys(dependencies, person.rights.member.id)}:
        raise NotFound("No such key")
    call = Call(dependencies, request, person.rights)
    await call.write(Key, lambda store: store.delete(Key, key_id))
    return Response(status_code=204)


async def _keys(dependencies: QueryDependencies, member_id: str) -> list[Key]:
    store = dependencies.store
    return [*await dependencies.in_registry(lambda: store.list(Key, person_id=member_id))]


_KEY_ID = openapi.Parameter("key_id", "the key", required=True, location="path")
ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            create_personal_key,
            openapi.Operation(
                method="POST",
                path=PATH,
                operation_id="createPersonalKey",
                tag="Account",
                summary="Create an API key of the person; its text is shown once",
                description="It may do what its scopes and the roles of the person permit, and "
                "ends when the person leaves the organization.",
                body=NewPersonalKey,
                responses=(CREATED,),
                errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            list_personal_keys,
            openapi.Operation(
                method="GET",
                path=PATH,
                operation_id="listPersonalKeys",
                tag="Account",
                summary="List API keys of the person, oldest first",
                responses=(openapi.Response(200, "the keys", PersonalKeysResponse),),
                errors=KEY_ERRORS,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            delete_personal_key,
            openapi.Operation(
                method="DELETE",
                path=f"{PATH}/{{key_id}}",
                operation_id="deletePersonalKey",
                tag="Account",
                summary="Delete an API key of the person: it ends at once",
                parameters=(_KEY_ID,),
                responses=(openapi.Response(204, "deleted"),),
                errors=(*KEY_ERRORS, NotFound),
            ),
        )
    ),
)
