"""Resource: records over HTTP; the endpoints and their OpenAPI description follow from one value.

A record that the key has no access to answers like one that does not exist.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import (
    BODY_ERRORS,
    KEY_ERRORS,
    QueryDependencies,
    QueryEndpoint,
)
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.pagination import list_page
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.errors import ApiError, Conflict, Forbidden, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import out_of_reach, require_scope
from schemas.plans import Group
from schemas.registry import Key, KeyScope, RecordConflict, RecordNotFound, RegistryStore, Website
from schemas.registry.record_mapping import RecordT, kind_name, owner_id
from schemas.registry.records import Deletion
from schemas.registry.store import Equals
from schemas.registry.transaction import OwnerMissing

NO_STORE = {"cache-control": "no-store"}
"""Headers of a response with a secret."""

T = TypeVar("T")
BodyT = TypeVar("BodyT", bound=Struct)


class Call(Struct, frozen=True):
    """One request about records, with the key that is authorized for it."""

    dependencies: QueryDependencies
    request: Request
    key: Key

    @property
    def parameters(self) -> Mapping[str, str]:
        """The query string."""
        return self.request.query_params

    @property
    def now_ms(self) -> int:
        """The time of the service."""
        return self.dependencies.clock()

    async def body(self, shape: type[BodyT]) -> BodyT:
        """The body; Malformed names the member and the rule."""
        return await read_json(self.request, shape)

    async def changes(self, shape: type[BodyT]) -> BodyT:
        """The body of a PATCH; Malformed when it names no field."""
        body = await self.body(shape)
        if not given_members(body):
            names = ", ".join(f"'{name}'" for name in shape.__struct_encode_fields__)
            raise Malformed(f"The body has nothing to change; give at least one of {names}")
        return body

    async def read(self, kind: type[RecordT], record_id: str) -> RecordT:
        """The record, read from the store itself so that it is never stale; NotFound.

        A key of one website has access to records of that website only.
        """
        store = self.dependencies.store
        try:
            record = await self.dependencies.in_registry(lambda: store.get(kind, record_id))
        except RecordNotFound:
            raise _not_found(kind) from None
        website = record.id if isinstance(record, Website) else getattr(record, "website_id", None)
        is_tenants = owner_id(record) == self.key.organization_id
        if not is_tenants or not self.key.reaches(website):
            raise _not_found(kind)
        return record

    async def require_deletion(self, kind: type[RecordT], record_id: str) -> None:
        """NotFound unless the key's organization deleted a record of this id."""
        store = self.dependencies.store
        try:
            deletion = await self.dependencies.in_registry(lambda: store.get(Deletion, record_id))
        except RecordNotFound:
            raise _not_found(kind) from None
        if deletion.organization_id != self.key.organization_id:
            raise _not_found(kind)

    async def write(self, kind: type[RecordT], write: Callable[[RegistryStore], T]) -> T:
        """The result of a write, which this process sees at once; Conflict, Forbidden or NotFound.

        Forbidden, as in the next request, when its owner was deleted while this one was authorized.
        """
        dependencies, store = self.dependencies, self.dependencies.store_for(self.key)
        try:
            written = await dependencies.in_registry(lambda: write(store))
        except OwnerMissing:
            await dependencies.refresh_registry()
            what = "website" if "website_id" in kind.__struct_fields__ else "organization"
            raise Forbidden(out_of_reach(self.key, what)) from None
        except RecordConflict as conflict:
            raise Conflict(f"{str(conflict)[:1].upper()}{str(conflict)[1:]}") from None
        except RecordNotFound:
            raise _not_found(kind) from None
        await dependencies.refresh_registry()
        return written


class Access(Struct, frozen=True):
    """Which keys may send a request: those with one of `scopes`, and all of `also`."""

    scopes: Sequence[KeyScope]
    group: Group = Group.RECORDS
    """The rate limit that counts the request."""
    also: Sequence[KeyScope] = ()
    whole_organization: bool = False
    """Whether keys that are restricted to one website are refused."""

    async def authorize(self, dependencies: QueryDependencies, request: Request) -> Call:
        """The request with its key; Unauthorized, Forbidden or RateLimitExceeded."""
        scope, *others = self.scopes
        key = await dependencies.authorize(request, scope, self.group, *others)
        for needed in self.also:
            key = require_scope(key, needed)
        if self.whole_organization and key.website_id is not None:
            raise Forbidden(out_of_reach(key, "organization"))
        return Call(dependencies, request, key)


class Verb(Struct, frozen=True, kw_only=True):
    """One kind of request about records: who may send it, and how OpenAPI describes it."""

    access: Access
    check: Callable[[Call, Any], None] | None = None
    """Refuses a request about one record by its query string."""
    operation_id: str
    summary: str
    description: str = ""
    parameters: Sequence[openapi.Parameter] = ()
    """Those of the query string."""
    examples: Mapping[str, object] = {}
    errors: Sequence[type[ApiError]] = ()
    """Errors beside those of every request of this kind."""


class Created(Struct, frozen=True):
    """A new record, and what only the response that creates it has."""

    record: Any
    once: Mapping[str, object] = {}
    headers: Mapping[str, str] = {}


class Create(Verb, frozen=True, kw_only=True):
    """POST: 201 with the new record; 409 when its name is taken, or there are too many."""

    body: type[Struct]
    make: Callable[[Call], Awaitable[Created]]
    after: Callable[[Call, Any], Awaitable[Mapping[str, object]]] | None = None
    """What follows the creation; its result is in the response only once."""
    response: openapi.Response | None = None
    """By default that which shows one."""


Beside = Callable[[Call, Sequence[Any]], Awaitable[Mapping[str, Mapping[str, object]]]]
"""Members that responses show beside those of records, by id."""


class List(Verb, frozen=True, kw_only=True):
    """GET: one page, oldest first."""

    where: Callable[[Call], Mapping[str, Equals]]
    """What the columns of listed records equal; None: any value."""
    beside: Beside | None = None


class Show(Verb, frozen=True, kw_only=True):
    """GET of one."""

    details: Callable[[Call, Any], Awaitable[Mapping[str, object]]] | None = None
    """Members that only this response has."""


class Update(Verb, frozen=True, kw_only=True):
    """PATCH: update the fields that the body names."""

    body: type[Struct]
    changes: Callable[[Call, Any], Mapping[str, object]]
    """Validated values of the fields that the body names."""
    apply: Callable[[Any, Mapping[str, Any]], Any] = lambda record, values: structs.replace(
        record, **values
    )
    """The record with these values."""
    validate: Callable[[Call, Any, Any], Any] = lambda _call, _before, record: record
    """Validates the updated record as a whole, given the one before."""


class Action(Verb, frozen=True, kw_only=True):
    """A further request about one record."""

    run: Callable[[Call, Any], Awaitable[Response]]
    method: str = "POST"
    path: str = ""
    """What follows the path of the record."""
    body: type[Struct] | None = None
    body_media_type: str = ""
    """The media type of a body that is a file."""
    response: openapi.Response


class Resource(Struct, Generic[RecordT], frozen=True, kw_only=True):
    """A class of records that callers create, list, show, update and delete."""

    record: type[RecordT]
    path: str
    tag: str
    word: str
    id_name: str
    """The name of the id in the path."""
    shows: Callable[[Call, RecordT], object]
    """A record as responses show it."""
    one: Any
    """The type of a response with one record; `response_types` makes it."""
    page: Any
    """The type of a response with a list."""
    create: Create
    list: List
    show: Show
    update: Update | None = None
    delete: Verb | None = None
    actions: Sequence[Action] = ()

    def respond(self, call: Call, created: Created, status: int = 200) -> Response:
        """A response with one record."""
        data = self.shows(call, created.record)
        if created.once:
            data = {**msgspec.to_builtins(data), **created.once}
        response = json_response({"success": True, "data": data}, status)
        response.headers.update(created.headers)
        return response

    async def find(
        self, verb: Verb, dependencies: QueryDependencies, request: Request
    ) -> tuple[Call, RecordT]:
        """The authorized request and the record that its path names; NotFound."""
        call = await verb.access.authorize(dependencies, request)
        record = await call.read(self.record, request.path_params[self.id_name])
        if verb.check is not None:
            verb.check(call, record)
        return call, record


async def _create(
    resource: Resource[Any], verb: Create, dependencies: QueryDependencies, request: Request
) -> Response:
    call = await verb.access.authorize(dependencies, request)
    created = await verb.make(call)
    record = await call.write(resource.record, lambda store: store.create(created.record))
    if verb.after is not None:
        created = Created(record, {**created.once, **await verb.after(call, record)}, NO_STORE)
    return resource.respond(call, created, 201)


async def _list(
    resource: Resource[Any], verb: List, dependencies: QueryDependencies, request: Request
) -> Response:
    call = await verb.access.authorize(dependencies, request)
    where, shows = verb.where(call), partial(resource.shows, call)
    beside = partial(verb.beside, call) if verb.beside else None
    return await list_page(dependencies, request, resource.record, where, shows, beside)


async def _show(
    resource: Resource[Any], verb: Show, dependencies: QueryDependencies, request: Request
) -> Response:
    call, record = await resource.find(verb, dependencies, request)
    details = await verb.details(call, record) if verb.details else {}
    return resource.respond(call, Created(record, details))


async def _update(
    resource: Resource[Any], verb: Update, dependencies: QueryDependencies, request: Request
) -> Response:
    call, record = await resource.find(verb, dependencies, request)
    changes, now = verb.changes(call, await call.changes(verb.body)), call.now_ms

    def revise(store: RegistryStore) -> Any:
        return store.revise(
            record, now, lambda it: verb.validate(call, it, verb.apply(it, changes))
        )

    return resource.respond(call, Created(await call.write(resource.record, revise)))


async def _delete(
    resource: Resource[Any], verb: Verb, dependencies: QueryDependencies, request: Request
) -> Response:
    call, record = await resource.find(verb, dependencies, request)
    await call.write(resource.record, lambda store: store.delete(resource.record, record.id))
    return json_response(SuccessResponse(success=True))


async def _act(
    resource: Resource[Any], action: Action, dependencies: QueryDependencies, request: Request
) -> Response:
    call, record = await resource.find(action, dependencies, request)
    return await action.run(call, record)


def endpoints(resource: Resource[Any]) -> Iterator[QueryEndpoint]:
    """The endpoints of a resource; they refuse unknown parameters of the query string."""
    every, one = resource.path, f"{resource.path}/{{{resource.id_name}}}"
    create, update, delete = resource.create, resource.update, resource.delete
    shown = openapi.Response(200, f"the {resource.word}", resource.one)
    listed = openapi.Response(200, "one page", resource.page)
    created = create.response or structs.replace(shown, status=201)
    endpoint = partial(_endpoint, resource)
    yield endpoint(_create, create, "POST", every, created, *BODY_ERRORS, Conflict)
    yield endpoint(_list, resource.list, "GET", every, listed, Malformed)
    yield endpoint(_show, resource.show, "GET", one, shown, NotFound)
    if update is not None:
        yield endpoint(_update, update, "PATCH", one, shown, *BODY_ERRORS, NotFound)
    if delete is not None:
        deleted = openapi.Response(200, "deleted", SuccessResponse)
        yield endpoint(_delete, delete, "DELETE", one, deleted, NotFound)
    for act in resource.actions:
        yield endpoint(_act, act, act.method, f"{one}{act.path}", act.response, NotFound)


def _endpoint(
    resource: Resource[Any],
    handler: Callable[..., Awaitable[Response]],
    verb: Verb,
    method: str,
    path: str,
    response: openapi.Response,
    *errors: type[ApiError],
) -> QueryEndpoint:
    name = resource.id_name
    id_parameter = openapi.Parameter(name, f"the {resource.word}", required=True, location="path")
    operation = openapi.Operation(
        method=method,
        path=path,
        operation_id=verb.operation_id,
        tag=resource.tag,
        summary=verb.summary,
        description=verb.description,
        parameters=(*((id_parameter,) if f"{{{name}}}" in path else ()), *verb.parameters),
        body=getattr(verb, "body", None),
        body_media_type=getattr(verb, "body_media_type", ""),
        examples=verb.examples,
        responses=(response,),
        errors=(*KEY_ERRORS, *errors, *verb.errors),
    )
    return strict_query_string(QueryEndpoint(partial(handler, resource, verb), operation))


def given_members(body: Struct) -> dict[str, Any]:
    """The fields that a body gives."""
    return {name: value for name, value in structs.asdict(body).items() if value is not UNSET}


def _not_found(kind: type[RecordT]) -> NotFound:
    return NotFound(f"No such {kind_name(kind)}")
