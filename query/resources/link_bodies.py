"""The bodies of requests and responses about links, with the optional fields of every link."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, cast, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct, structs

from query.request.instants import Instant
from query.response.bodies import PageMeta
from schemas.registry.records import LINK_FIELDS, Link, LinkField, LinkFieldKind
from schemas.runtime.clock import format_instant

INSTANT_FIELDS = (
    *(name for name, field in LINK_FIELDS.items() if field.kind is LinkFieldKind.INSTANT),
    "created_at",
    "updated_at",
)
StructT = TypeVar("StructT", bound=Struct)


def _type_in_request(field: LinkField) -> Any:
    if field.kind is LinkFieldKind.INSTANT:
        return Instant
    if field.kind is LinkFieldKind.ID:
        return Annotated[str, Meta(max_length=field.max_length)] | None
    return str | None


def _with_link_fields(
    type_of: Callable[[LinkField], Any], default: object = NODEFAULT
) -> Callable[[type[StructT]], type[StructT]]:
    """Put the optional fields of a link after `slug`."""
    more = [(name, type_of(field), default) for name, field in LINK_FIELDS.items()]

    def extend(struct: type[StructT]) -> type[StructT]:
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
        return cast(type[StructT], extended)

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


class LinkResponse(Struct):
    """One link."""

    success: Literal[True]
    data: LinkResource


class LinkListResponse(Struct):
    """One page of links."""

    success: Literal[True]
    data: list[LinkResource]
    meta: PageMeta


def link_resource(link: Link) -> LinkResource:
    """A link as responses show it, instants as ISO 8601."""
    values: dict[str, Any] = structs.asdict(link)
    for name in INSTANT_FIELDS:
        values[name] = format_instant(values[name])
    return LinkResource(**values)
