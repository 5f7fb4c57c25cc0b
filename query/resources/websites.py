"""Websites: create, list, read, update, delete."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

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
    given_members,
)
from query.resources.website_set_up import READS, SNIPPET, STATUS
from query.response.bodies import response_types
from schemas.errors import Malformed
from schemas.http.openapi import Parameter
from schemas.registry import KeyScope, Website
from schemas.registry.allowed_origins import MAX_ORIGINS
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.validation import new_website, validate_website_fields
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


class NewWebsite(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates a website of the key's organization; its name is the domain if none."""

    domain: Domain
    name: Name | UnsetType = UNSET
    timezone: TimeZone | UnsetType = UNSET
    allowed_origins: Origins | UnsetType = UNSET


class WebsiteChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that updates a website: absent fields stay, a list of origins replaces the other."""

    domain: Domain | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    timezone: TimeZone | UnsetType = UNSET
    allowed_origins: Origins | UnsetType = UNSET


class WebsiteResource(Struct, rename="camel"):
    """A website; its id is the client id of its trackers."""

    id: str
    organization_id: str
    name: str
    domain: Domain
    timezone: TimeZone
    allowed_origins: Origins
    created_at: str
    updated_at: str


def website_resource(_call: Call, website: Website) -> WebsiteResource:
    """A website as responses show it."""
    return WebsiteResource(
        id=website.id,
        organization_id=website.organization_id,
        name=website.name or website.domain,
        domain=website.domain,
        timezone=website.timezone,
        allowed_origins=list(website.allowed_origins),
        created_at=str(format_instant(website.created_at)),
        updated_at=str(format_instant(website.updated_at)),
    )


async def make_website(call: Call) -> Created:
    """A new website of the key's organization."""
    given = given_members(await call.body(NewWebsite))
    return Created(new_website(call.key.organization_id, now_ms=call.now_ms, **given))


def website_changes(_call: Call, body: WebsiteChanges) -> dict[str, Any]:
    """Validated fields of an update."""
    return validate_website_fields(given_members(body))


def websites_of_key(call: Call) -> dict[str, str | None]:
    """All websites of the organization, or the one that the key is restricted to."""
    return {"organization_id": call.key.organization_id, "id": call.key.website_id}


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
        access=WRITES,
        operation_id="changeWebsite",
        summary="Update a website: absent fields stay",
        description="A new time zone changes the days of all results. The key needs "
        "`manage:websites`.",
        examples={"origins": {"allowedOrigins": ["https://*.shop.example"]}},
    ),
    delete=Verb(
        access=WRITES_ALL,
        check=check_confirmation,
        operation_id="deleteWebsite",
        summary="Delete a website and the records that belong to it",
        description="Its keys, imports and saved records end at once, and nothing is accepted "
        "for it any more. Its events stay in the tables, where no key has access to them. The "
        "key needs `manage:websites` and must not be restricted to one website.",
        parameters=(Parameter("domain", "that of the website, to confirm", required=True),),
        errors=(Malformed,),
    ),
    actions=(SNIPPET, STATUS),
)
ENDPOINTS = tuple(endpoints(WEBSITES))
