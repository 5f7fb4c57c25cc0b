"""Erasures: create, list, show. The maintenance worker carries them out."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from query.resources.pagination import page_parameters
from query.resources.resource import Access, Call, Create, Created, List, Resource, Show, endpoints
from query.response.bodies import response_types
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_link, authorize_organization, authorize_website
from schemas.registry import Erasure, ErasureState, KeyScope, Selector
from schemas.registry.validation import new_erasure
from schemas.runtime.clock import format_instant


class ErasedProperty(Struct, frozen=True, forbid_unknown_fields=True):
    """A property of events, or a trait of profiles, and its value; numbers as JSON text."""

    name: str
    value: str


class NewErasure(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates an erasure: one owner and one of the values."""

    website_id: str | UnsetType = UNSET
    link_id: str | UnsetType = UNSET
    organization_id: Annotated[str | UnsetType, Meta(description="all its websites and links")] = (
        UNSET
    )
    visitor: Annotated[str | UnsetType, Meta(description="an anonymous id")] = UNSET
    profile: Annotated[
        str | UnsetType,
        Meta(description="a profile id, with the visitors that were identified with it last"),
    ] = UNSET
    session: str | UnsetType = UNSET
    property: ErasedProperty | UnsetType = UNSET
    dry_run: Annotated[bool, Meta(description="only count its rows")] = False


class ErasureReport(Struct, rename="camel", omit_defaults=True):
    """What was removed, and when; what is missing has not happened yet."""

    rows: Annotated[
        dict[str, int] | UnsetType,
        Meta(description="rows by table; of `quarantine` those whose payload was removed"),
    ] = UNSET
    visitors: Annotated[int | UnsetType, Meta(description="visitors of the profile")] = UNSET
    files: Annotated[
        int | UnsetType,
        Meta(description="data files that were replaced in the passes that removed rows of it"),
    ] = UNSET
    versions: Annotated[
        dict[str, int] | UnsetType,
        Meta(description="the first known version of each table without the rows"),
    ] = UNSET
    rewritten_at: Annotated[
        str | UnsetType, Meta(description="from when on no table has the rows")
    ] = UNSET
    files_deleted_from: Annotated[
        str | UnsetType, Meta(description="when replaced data files may be deleted")
    ] = UNSET
    done_at: Annotated[
        str | UnsetType, Meta(description="when replaced data files were deleted")
    ] = UNSET
    kafka_copy_until: Annotated[
        str | UnsetType, Meta(description="until when Kafka may have what was sent before")
    ] = UNSET
    spool_copy_until: Annotated[
        str | UnsetType,
        Meta(
            description="until when a collector with a spool keeps requests that their topic "
            "refused, or while Kafka is away"
        ),
    ] = UNSET
    bucket_copies: Annotated[
        str | UnsetType, Meta(description="what a bucket may keep by its own settings")
    ] = UNSET


class ErasureResource(Struct, rename="camel"):
    """An erasure, without the values that it erases."""

    id: str
    organization_id: str
    website_id: str | None
    link_id: str | None
    selector: Selector
    property_name: str
    state: ErasureState
    report: ErasureReport
    created_at: str
    updated_at: str


def erasure_resource(_call: Call, erasure: Erasure) -> ErasureResource:
    """An erasure as responses show it."""
    return ErasureResource(
        id=erasure.id,
        organization_id=erasure.organization_id,
        website_id=erasure.website_id,
        link_id=erasure.link_id,
        selector=erasure.selector,
        property_name=erasure.property_name,
        state=erasure.state,
        report=msgspec.convert(erasure.report, ErasureReport),
        created_at=str(format_instant(erasure.created_at)),
        updated_at=str(format_instant(erasure.updated_at)),
    )


async def make_erasure(call: Call) -> Created:
    """A new erasure: queries that begin after it do not see its rows."""
    body = await call.body(NewErasure)
    owner = _authorized_owner(call, body)
    selector, name, value = _selected(body)
    key = call.dependencies.registry.tombstones.key
    record = new_erasure(
        call.key.organization_id,
        selector,
        [value],
        call.now_ms,
        key,
        property_name=name,
        dry_run=body.dry_run,
        **owner,
    )
    return Created(record)


def _authorized_owner(call: Call, body: NewErasure) -> Mapping[str, str]:
    """The website or link of an erasure; neither for the organization."""
    registry, key = call.dependencies.registry, call.key
    named = [n for n in (body.website_id, body.link_id, body.organization_id) if n is not UNSET]
    if len(named) != 1:
        raise Malformed("Give exactly one of 'websiteId', 'linkId' and 'organizationId'")
    if isinstance(body.website_id, str):
        return {"website_id": authorize_website(registry, key, body.website_id).id}
    if isinstance(body.link_id, str):
        return {"link_id": authorize_link(registry, key, body.link_id).id}
    authorize_organization(registry, key, str(body.organization_id))
    return {}


def _selected(body: NewErasure) -> tuple[Selector, str, str]:
    """What the value identifies, the name of the property, and the value."""
    values = {
        Selector.VISITOR: body.visitor,
        Selector.PROFILE: body.profile,
        Selector.SESSION: body.session,
    }
    named = [(s, "", value) for s, value in values.items() if isinstance(value, str)]
    if isinstance(body.property, ErasedProperty):
        named.append((Selector.PROPERTY, body.property.name, body.property.value))
    if len(named) != 1:
        raise Malformed("Give exactly one of 'visitor', 'profile', 'session' and 'property'")
    return named[0]


def listed_erasures(call: Call) -> dict[str, str | None]:
    """Erasures of the organization, or those of one website."""
    website_id = call.parameters.get("websiteId") or call.key.website_id
    if website_id is not None:
        authorize_website(call.dependencies.registry, call.key, website_id)
    return {"organization_id": call.key.organization_id, "website_id": website_id}


ERASES = Access((KeyScope.ERASE_VISITORS,))
ONE, PAGE = response_types("Erasure", "erasure", "erasures", ErasureResource)
ERASURES = Resource(
    record=Erasure,
    path="/v1/erasures",
    tag="Erasures",
    word="erasure",
    id_name="erasure_id",
    shows=erasure_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewErasure,
        make=make_erasure,
        access=ERASES,
        operation_id="createErasure",
        summary="Erase a visitor, profile, session or property value",
        description="Its rows are hidden from every query at once, removed from all tables, and "
        "dropped when they are sent again. It cannot be undone. With `dryRun` the rows are only "
        "counted, within seconds: then the state is `counted`. The key needs `erase:visitors`. An "
        "organization has at most 100,000 erasures.",
        examples={
            "a visitor": {"websiteId": "web_9fKq2VtB7xRd", "visitor": "a1"},
            "a dry run": {
                "websiteId": "web_9fKq2VtB7xRd",
                "property": {"name": "email", "value": "a@b.example"},
                "dryRun": True,
            },
        },
    ),
    list=List(
        where=listed_erasures,
        access=ERASES,
        operation_id="listErasures",
        summary="List erasures, oldest first",
        parameters=(
            openapi.Parameter("websiteId", "only those of this website"),
            *page_parameters("erasures"),
        ),
    ),
    show=Show(
        access=ERASES,
        operation_id="showErasure",
        summary="Show an erasure with its report",
        description="The report says what was removed and until when copies remain. The value "
        "that was erased is in no response.",
    ),
)
ENDPOINTS = tuple(endpoints(ERASURES))
