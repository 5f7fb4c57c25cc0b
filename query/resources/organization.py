"""`/v1/organization`: show and update the organization of the API key.

No key reaches beyond its organization, so organizations are created with `tidemark organizations`.
"""

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.resources.resource import Access, given_members
from query.response.json_response import json_response
from schemas.http import openapi
from schemas.registry import KeyScope, Organization
from schemas.registry.keep_days import validate_keep_days
from schemas.registry.validation import validate_name
from schemas.runtime.clock import format_instant

READS = Access((KeyScope.MANAGE_WEBSITES,), whole_organization=True)
WRITES = Access((KeyScope.ADMIN,), whole_organization=True)

OrganizationKeepDays = Annotated[
    dict[str, int],
    Meta(
        description="days after which rows are deleted, by table or `all`, where a website has "
        "none; clicks on links have these"
    ),
]


class OrganizationChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that updates the organization: absent fields stay."""

    name: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET
    keep_days: OrganizationKeepDays | UnsetType = UNSET
    require_second_factor: (
        Annotated[bool, Meta(description="people without a second factor get no access")]
        | UnsetType
    ) = UNSET


class OrganizationResource(Struct, rename="camel"):
    """The organization of the key."""

    id: str
    name: str
    plan: str
    limits: Annotated[
        dict[str, int], Meta(description="limits per minute of its own, which replace the plan's")
    ]
    keep_days: OrganizationKeepDays
    require_second_factor: bool
    created_at: str
    updated_at: str


class OrganizationResponse(Struct):
    """The organization of the key."""

    success: Literal[True]
    data: OrganizationResource


async def show_organization(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/organization."""
    call = await READS.authorize(dependencies, request)
    return _organization_response(dependencies.registry.organizations[call.key.organization_id])


async def update_organization(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/organization: its name and days to keep."""
    call = await WRITES.authorize(dependencies, request)
    changes = given_members(await call.changes(OrganizationChanges))
    if "name" in changes:
        changes["name"] = validate_name("name", changes["name"])
    if "keep_days" in changes:
        changes["keep_days"] = validate_keep_days(changes["keep_days"])
        dependencies.keep_bounds.check(changes["keep_days"])
    owner, now = call.key.organization_id, call.now_ms
    updated = await call.write(
        Organization, lambda store: store.update(Organization, owner, now, **changes)
    )
    return _organization_response(updated)


def _organization_response(organization: Organization) -> Response:
    data = OrganizationResource(
        id=organization.id,
        name=organization.name,
        plan=organization.plan,
        limits=dict(organization.limits),
        keep_days=dict(organization.keep_days),
        require_second_factor=organization.require_second_factor,
        created_at=str(format_instant(organization.created_at)),
        updated_at=str(format_instant(organization.updated_at)),
    )
    return json_response(OrganizationResponse(success=True, data=data))


_operation = partial(openapi.Operation, path="/v1/organization", tag="Organization")
ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            show_organization,
            _operation(
                method="GET",
                operation_id="showOrganization",
                summary="Show the organization of the API key, with its plan",
                description="The key needs `manage:websites` and must not be restricted to one "
                "website.",
                responses=(openapi.Response(200, "the organization", OrganizationResponse),),
                errors=KEY_ERRORS,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            update_organization,
            _operation(
                method="PATCH",
                operation_id="renameOrganization",
                summary="Update name and days to keep of the organization of the API key",
                description="Fewer days to keep delete events within the hour, for good. "
                "The key needs `admin` and must not be restricted to one website. "
                "Plan and limits are changed by the operator, with `tidemark organizations`.",
                body=OrganizationChanges,
                examples={"a name": {"name": "Acme"}, "days": {"keepDays": {"all": 400}}},
                responses=(openapi.Response(200, "the organization", OrganizationResponse),),
                errors=(*KEY_ERRORS, *BODY_ERRORS),
            ),
        )
    ),
)
