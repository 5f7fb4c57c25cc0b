"""`/v1/organization`: show and rename the organization of the API key.

No key reaches beyond its organization, so organizations are created with `tidemark organizations`.
"""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.record_access import require_whole_organization, write_record
from query.resources.website_bodies import (
    OrganizationChanges,
    OrganizationResponse,
    organization_resource,
)
from query.response.json_response import json_response
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope, Organization
from schemas.registry.validation import validate_name


async def show_organization(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/organization."""
    scopes = KeyScope.MANAGE_WEBSITES, Group.RECORDS
    key = require_whole_organization(await dependencies.authorize(request, *scopes))
    return _organization_response(dependencies.registry.organizations[key.organization_id])


async def update_organization(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH /v1/organization: rename it."""
    scopes = KeyScope.ADMIN, Group.RECORDS
    key = require_whole_organization(await dependencies.authorize(request, *scopes))
    name = validate_name("name", (await read_json(request, OrganizationChanges)).name)
    store, now = dependencies.store_for(key), dependencies.clock()
    renamed = await write_record(
        dependencies,
        Organization,
        lambda: store.update(Organization, key.organization_id, now, name=name),
    )
    return _organization_response(renamed)


def _organization_response(organization: Organization) -> Response:
    data = organization_resource(organization)
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
                summary="Rename the organization of the API key",
                description="The key needs `admin` and must not be restricted to one website. "
                "Plan and limits are changed by the operator, with `tidemark organizations`.",
                body=OrganizationChanges,
                examples={"a name": {"name": "Acme"}},
                responses=(openapi.Response(200, "the organization", OrganizationResponse),),
                errors=(*KEY_ERRORS, *BODY_ERRORS),
            ),
        )
    ),
)
