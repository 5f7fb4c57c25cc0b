"""The bodies of requests and responses about websites and the organization."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from query.response.bodies import PageMeta, StaleReason, Watermark
from schemas.registry import Organization, Website
from schemas.registry.allowed_origins import MAX_ORIGINS
from schemas.runtime.clock import format_instant

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


class WebsiteResponse(Struct):
    """One website."""

    success: Literal[True]
    data: WebsiteResource


class WebsiteListResponse(Struct):
    """One page of websites."""

    success: Literal[True]
    data: list[WebsiteResource]
    meta: PageMeta


class WebsiteStatus(Struct, rename="camel"):
    """Which events of a website are stored."""

    received: Annotated[bool, Meta(description="whether there is any, of a bot or not")]
    events: int
    bot_events: Annotated[int, Meta(description="how many of them are of bots")]
    first_event_at: str | None
    last_event_at: str | None
    watermark: Watermark
    lag_seconds: float | None
    stale_reason: StaleReason | UnsetType = UNSET


class WebsiteStatusResponse(Struct):
    """The stored events of one website."""

    success: Literal[True]
    data: WebsiteStatus


class Snippet(Struct, rename="camel"):
    """The script tag for the pages of a website."""

    script: Annotated[str, Meta(description="put it into the head of every page")]
    collect_url: str


class SnippetResponse(Struct):
    """The script tag of one website."""

    success: Literal[True]
    data: Snippet


class OrganizationChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """The body that renames the organization."""

    name: Name


class OrganizationResource(Struct, rename="camel"):
    """The organization of the key."""

    id: str
    name: str
    plan: str
    limits: Annotated[
        dict[str, int], Meta(description="limits per minute of its own, which replace the plan's")
    ]
    created_at: str
    updated_at: str


class OrganizationResponse(Struct):
    """The organization of the key."""

    success: Literal[True]
    data: OrganizationResource


def website_resource(website: Website) -> WebsiteResource:
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


def organization_resource(organization: Organization) -> OrganizationResource:
    """An organization as responses show it."""
    return OrganizationResource(
        id=organization.id,
        name=organization.name,
        plan=organization.plan,
        limits=dict(organization.limits),
        created_at=str(format_instant(organization.created_at)),
        updated_at=str(format_instant(organization.updated_at)),
    )


def given_members(body: Struct) -> dict[str, Any]:
    """The fields that a body gives."""
    return {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
