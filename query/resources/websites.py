"""Websites: create, list, read, update, delete."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.resources.pagination import list_page, page_parameters
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
    given_members,
)
from query.resources.website_contract import CONTRACT_ACTIONS
from query.resources.website_set_up import READS, SNIPPET, STATUS
from query.response.bodies import PageMeta, response_types
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.http.openapi import Parameter
from schemas.registry import KeyScope, Website
from schemas.registry.allowed_origins import MAX_ORIGINS
from schemas.registry.keep_days import DAY_MS
from schemas.registry.privacy import Privacy, PrivacyChanges
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.record_mapping import kind_name
from schemas.registry.records import Deletion
from schemas.registry.store import Equals
from schemas.registry.validation import (
    new_website,
    validate_website_fields,
    with_website_changes,
)
from schemas.runtime.clock import format_instant

NOT_CONFIRMED = (
    "'domain' in the query string must be that of the website, which confirms that its keys, saved "
    "records and access to its events end"
)
Domain = Annotated[str, Meta(description="host name, such as shop.example")]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
TimeZone = Annotated[str, Meta(description="IANA time zone of its days, such as Europe/Berlin")]
Origins = Annotated[
    list[str],
    Meta(
        max_length=MAX_ORIGINS,
        description="origins from which browsers may send without a key, such as "
        "https://*.shop.example; empty: any",
    ),
]

WebsiteKeepDays = Annotated[
    dict[str, int],
    Meta(
        description="days after which rows are deleted, by table or `all`; they replace those of "
        "the organization, and a body replaces all of them"
    ),
]


class NewWebsite(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates a website of the key's organization; its name is the domain if none."""

    domain: Domain
    name: Name | UnsetType = UNSET
    timezone: TimeZone | UnsetType = UNSET
    allowed_origins: Origins | UnsetType = UNSET
    keep_days: WebsiteKeepDays | UnsetType = UNSET
    privacy: PrivacyChanges | UnsetType = UNSET


class WebsiteChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that updates a website: absent fields stay, a list of origins replaces the other."""

    domain: Domain | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    timezone: TimeZone | UnsetType = UNSET
    allowed_origins: Origins | UnsetType = UNSET
    keep_days: WebsiteKeepDays | UnsetType = UNSET
    privacy: PrivacyChanges | UnsetType = UNSET


class WebsiteResource(Struct, rename="camel"):
    """A website; its id is the client id of its trackers."""

    id: str
    organization_id: str
    name: str
    domain: Domain
    timezone: TimeZone
    allowed_origins: Origins
    keep_days: WebsiteKeepDays
    privacy: Annotated[Privacy, Meta(description="what is left out of its items")]
    created_at: str
    updated_at: str


class DeletedWebsite(Struct, rename="camel"):
    """A deleted website, which can be restored until its rows are purged."""

    id: str
    name: str
    deleted_at: str
    purged_from: Annotated[str, Meta(description="from when on its rows are purged")]
    restorable: bool
    purged_at: Annotated[
        str | None, Meta(description="when no table had its rows any more; null before")
    ]


class DeletedWebsiteListResponse(Struct):
    """One page of deleted websites."""

    success: Literal[True]
    data: list[DeletedWebsite]
    meta: PageMeta


def website_resource(_call: Call, website: Website) -> WebsiteResource:
    """A website as responses show it."""
    return WebsiteResource(
        id=website.id,
        organization_id=website.organization_id,
        name=website.name or website.domain,
        domain=website.domain,
        timezone=website.timezone,
        allowed_origins=list(website.allowed_origins),
        keep_days=dict(website.keep_days),
        privacy=website.privacy,
        created_at=str(format_instant(website.created_at)),
        updated_at=str(format_instant(website.updated_at)),
    )


def given_fields(body: NewWebsite | WebsiteChanges) -> dict[str, Any]:
    """The fields that a body gives."""
    given = given_members(body)
    if body.privacy is not UNSET:
        given["privacy"] = body.privacy.values()
    return given


async def make_website(call: Call) -> Created:
    """A new website of the key's organization."""
    given = given_fields(await call.body(NewWebsite))
    new = new_website(call.key.organization_id, now_ms=call.now_ms, **given)
    call.dependencies.keep_bounds.check(new.keep_days)
    return Created(new)


def website_changes(call: Call, body: WebsiteChanges) -> dict[str, Any]:
    """Validated fields of an update."""
    changes = validate_website_fields(given_fields(body))
    call.dependencies.keep_bounds.check(changes.get("keep_days", {}))
    return changes


async def restore_website(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/websites/{website_id}/restore; of one that is there, the website as it is."""
    call = await WRITES_ALL.authorize(dependencies, request)
    website_id = request.path_params["website_id"]
    try:
        website = await call.read(Website, website_id)
    except NotFound:
        await call.require_deletion(Website, website_id)
        website = await call.write(
            Website, lambda store: store.restore_deleted(Website, website_id)
        )
    return WEBSITES.respond(call, Created(website))


async def list_deleted(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/deleted-websites."""
    call = await WRITES_ALL.authorize(dependencies, request)
    where = {"organization_id": call.key.organization_id, "record_kind": kind_name(Website)}

    def shows(deletion: Deletion) -> DeletedWebsite:
        purged_from = deletion.created_at + dependencies.purge_days * DAY_MS
        return DeletedWebsite(
            id=deletion.id,
            name=deletion.name,
            deleted_at=str(format_instant(deletion.created_at)),
            purged_from=str(format_instant(purged_from)),
            restorable=bool(deletion.records),
            purged_at=format_instant(deletion.purged_at),
        )

    return await list_page(dependencies, request, Deletion, where, shows)


def websites_of_key(call: Call) -> dict[str, Equals]:
    """All websites of the organization, or those that the key is restricted to."""
    key, registry = call.key, call.dependencies.registry
    if key.website_id is None:
        return {"organization_id": key.organization_id}
    ids = registry.websites_by_organization.get(key.organization_id, ())
    return {"organization_id": key.organization_id, "id": tuple(filter(key.reaches, ids))}


def check_confirmation(call: Call, website: Website) -> None:
    """Malformed unless the query string repeats the domain."""
    if call.parameters.get("domain") != website.domain:
        raise Malformed(NOT_CONFIRMED)


WRITES = Access((KeyScope.MANAGE_WEBSITES,))
WRITES_ALL = Access((KeyScope.MANAGE_WEBSITES,), whole_organization=True)
ONE, PAGE = response_types("Website", "website", "websites", WebsiteResource)
WEBSITES = Resource(
    record=Website,
    path="/v1/websites",
    tag="Websites",
    word="website",
    id_name="website_id",
    shows=website_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewWebsite,
        make=make_website,
        access=WRITES_ALL,
        operation_id="createWebsite",
        summary="Create a website",
        description="The key needs `manage:websites` and must not be restricted to one "
        f"website. An organization has at most {MAX_RECORDS[Website]:,} websites.",
        examples={"a website": {"domain": "shop.example", "timezone": "Europe/Berlin"}},
    ),
    list=List(
        where=websites_of_key,
        access=READS,
        operation_id="listWebsites",
        summary="List websites that the key has access to, oldest first",
        parameters=page_parameters("websites"),
    ),
    show=Show(access=READS, operation_id="showWebsite", summary="Show a website"),
    update=Update(
        body=WebsiteChanges,
        changes=website_changes,
        apply=with_website_changes,
        access=WRITES,
        operation_id="changeWebsite",
        summary="Update a website: absent fields stay",
        description="A new time zone changes the days of all results. Fewer days to keep delete "
        "events within the hour, for good. Absent members of `privacy` stay, too; changes apply "
        "to what is collected within a second. The key needs `manage:websites`.",
        examples={
            "origins": {"allowedOrigins": ["https://*.shop.example"]},
            "privacy": {"privacy": {"doNotTrack": "drop", "neverStoreQuery": ["token", "sess*"]}},
        },
    ),
    delete=Verb(
        access=WRITES_ALL,
        check=check_confirmation,
        operation_id="deleteWebsite",
        summary="Delete a website and the records that belong to it",
        description="Its keys, imports and saved records end at once, and nothing is accepted "
        "for it any more. For 30 days, unless the operator set another number, it can be restored "
        "with all of them; then its events are deleted, too. The "
        "key needs `manage:websites` and must not be restricted to one website.",
        parameters=(Parameter("domain", "that of the website, to confirm", required=True),),
        errors=(Malformed,),
    ),
    actions=(SNIPPET, STATUS, *CONTRACT_ACTIONS),
)
ENDPOINTS = (
    *endpoints(WEBSITES),
    strict_query_string(
        QueryEndpoint(
            list_deleted,
            openapi.Operation(
                method="GET",
                path="/v1/deleted-websites",
                operation_id="listDeletedWebsites",
                tag="Websites",
                summary="List deleted websites, and until when they can be restored",
                description="The key needs `manage:websites` and must not be restricted to one "
                "website.",
                parameters=page_parameters("websites"),
                responses=(openapi.Response(200, "one page", DeletedWebsiteListResponse),),
                errors=(*KEY_ERRORS, Malformed),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            restore_website,
            openapi.Operation(
                method="POST",
                path="/v1/websites/{website_id}/restore",
                operation_id="restoreWebsite",
                tag="Websites",
                summary="Restore a deleted website with the records that belonged to it",
                description="Possible until its events are purged. Keys, imports, saved records "
                "and shares are as they were. The key needs `manage:websites` and must not be "
                "restricted to one website.",
                parameters=(
                    openapi.Parameter(
                        "website_id", "the deleted website", required=True, location="path"
                    ),
                ),
                responses=(openapi.Response(200, "the website", ONE),),
                errors=(*KEY_ERRORS, NotFound, Conflict),
            ),
        )
    ),
)
