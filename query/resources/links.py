"""Short links: create, read, update, delete, list.

The optional fields of a link are those of the record, in each body after `slug`.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct, structs

from query.request.instants import Instant, parse_instant
from query.resources.pagination import page_parameters
from query.resources.resource import (
    Access,
    Call,
    Create,
    Created,
    List,
    Resource,
    Show,
    Update,
    Verb,
    endpoints,
)
from query.response.bodies import response_types
from schemas.errors import Conflict
from schemas.http.auth import authorize_organization
from schemas.http.openapi import Parameter
from schemas.plans import Group
from schemas.registry import KeyScope, Link, validation
from schemas.registry.link_validation import WIRE_NAMES
from schemas.registry.records import LINK_FIELDS, LinkField, LinkFieldKind
from schemas.runtime.clock import format_instant

INSTANT_FIELDS = (
    *(name for name, field in LINK_FIELDS.items() if field.kind is LinkFieldKind.INSTANT),
    "created_at",
    "updated_at",
)
LinkBodyT = TypeVar("LinkBodyT", bound=Struct)


def _type_in_request(field: LinkField) -> Any:
    if field.kind is LinkFieldKind.INSTANT:
        return Instant
    if field.kind is LinkFieldKind.ID:
        return Annotated[str, Meta(max_length=field.max_length)] | None
    return str | None


def _with_link_fields(
    type_of: Callable[[LinkField], Any], default: object = NODEFAULT
) -> Callable[[type[LinkBodyT]], type[LinkBodyT]]:
    """Put the optional fields of a link after `slug`."""
    more = [(name, type_of(field), default) for name, field in LINK_FIELDS.items()]

    def extend(struct: type[LinkBodyT]) -> type[LinkBodyT]:
        types = get_type_hints(struct, include_extras=True)
        own = [(field.name, types[field.name], field.default) for field in structs.fields(struct)]
        index = struct.__struct_fields__.index("slug") + 1
        extended = defstruct(
            struct.__name__,
            [*own[:index], *more, *own[index:]],
            rename="camel",
            frozen=True,
            module=struct.__module__,
            namespace={"__doc__": struct.__doc__},
        )
        return cast(type[LinkBodyT], extended)

    return extend


@_with_link_fields(_type_in_request, default=None)
class NewLink(Struct):
    """The body that creates a link."""

    name: str
    target_url: str
    organization_id: str | None = None
    slug: str | None = None


@_with_link_fields(lambda field: _type_in_request(field) | UnsetType, default=UNSET)
class LinkChanges(Struct):
    """The body that updates a link: absent fields stay, null clears a field."""

    name: str | UnsetType = UNSET
    target_url: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET


@_with_link_fields(lambda _field: str | None)
class LinkResource(Struct):
    """A short link."""

    id: str
    organization_id: str
    name: str
    target_url: str
    slug: str
    created_at: str
    updated_at: str


def link_resource(_call: Call, link: Link) -> LinkResource:
    """A link as responses show it, instants as ISO 8601."""
    values: dict[str, Any] = structs.asdict(link)
    for name in INSTANT_FIELDS:
        values[name] = format_instant(values[name])
    return LinkResource(**values)


async def make_link(call: Call) -> Created:
    """A new link of the organization that the body names, by default that of the key."""
    body = await call.body(NewLink)
    organization_id = body.organization_id or call.key.organization_id
    authorize_organization(call.dependencies.registry, call.key, organization_id)
    link = validation.new_link(
        organization_id,
        body.name,
        body.target_url,
        call.now_ms,
        slug=body.slug,
        apps=call.dependencies.app_schemes,
        **_optional_fields(body),
    )
    return Created(link)


def listed_links(call: Call) -> dict[str, str | None]:
    """Links of the organization, or those with one external id."""
    organization_id = call.parameters.get("organizationId") or call.key.organization_id
    authorize_organization(call.dependencies.registry, call.key, organization_id)
    return {"organization_id": organization_id, "external_id": call.parameters.get("externalId")}


def link_changes(call: Call, body: LinkChanges) -> dict[str, Any]:
    """Validated fields of an update."""
    required = {name: getattr(body, name) for name in ("name", "target_url", "slug")}
    changes = {name: value for name, value in required.items() if value is not UNSET}
    return validation.validate_link_fields(
        {**changes, **_optional_fields(body)}, call.dependencies.app_schemes
    )


def _optional_fields(body: NewLink | LinkChanges) -> dict[str, Any]:
    """The optional fields that a body names, with instants in Unix milliseconds."""
    values = {name: getattr(body, name) for name in LINK_FIELDS}
    return {
        name: parse_instant(WIRE_NAMES[name], value)
        if LINK_FIELDS[name].kind is LinkFieldKind.INSTANT
        else value
        for name, value in values.items()
        if value is not UNSET
    }


READS = Access((KeyScope.READ_LINKS,), Group.LINKS)
WRITES = Access((KeyScope.WRITE_LINKS,), Group.LINKS, whole_organization=True)
ONE, PAGE = response_types("Link", "link", "links", LinkResource)
LINKS = Resource(
    record=Link,
    path="/v1/links",
    tag="Links",
    word="link",
    id_name="link_id",
    shows=link_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewLink,
        make=make_link,
        access=WRITES,
        operation_id="createLink",
        summary="Create a short link",
        description="The collector redirects /l/{slug} to the target and counts the clicks.",
        examples={"a link": {"name": "Spring", "targetUrl": "https://shop.example/spring"}},
    ),
    list=List(
        where=listed_links,
        access=READS,
        operation_id="listLinks",
        summary="List links, oldest first",
        parameters=(
            Parameter("organizationId", "organization of the links; default: that of the API key"),
            Parameter("externalId", "only links with this external id"),
            *page_parameters("links"),
        ),
    ),
    show=Show(access=READS, operation_id="showLink", summary="Show a link"),
    update=Update(
        body=LinkChanges,
        changes=link_changes,
        access=WRITES,
        operation_id="changeLink",
        summary="Update a link: absent fields stay, null clears a field",
        errors=(Conflict,),
    ),
    delete=Verb(
        access=WRITES, operation_id="deleteLink", summary="Delete a link; its clicks stay stored"
    ),
)
ENDPOINTS = tuple(endpoints(LINKS))
