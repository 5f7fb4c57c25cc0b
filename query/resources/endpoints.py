"""The endpoints of all resources that queries are about or that they use."""

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.resources import (
    audit,
    erasures,
    imports,
    keys,
    links,
    organization,
    quarantine,
    rate_limits,
    receipts,
    refused_items,
    replays,
    saved_records,
    shared_dashboards,
    sign_in,
    websites,
)
from query.resources.oidc import oidc_endpoints
from query.sign_in.identity import Identity, Problem


async def no_accounts(
    _dependencies: QueryDependencies, _request: Request, _response: Response, _identity: Identity
) -> Problem | None:
    """Nobody has an account yet."""
    return Problem.NO_ACCESS


ENDPOINTS: tuple[QueryEndpoint, ...] = (
    *receipts.ENDPOINTS,
    *links.ENDPOINTS,
    *imports.ENDPOINTS,
    *erasures.ENDPOINTS,
    *shared_dashboards.ENDPOINTS,
    *saved_records.ENDPOINTS,
    *sign_in.ENDPOINTS,
    *oidc_endpoints(no_accounts),
    *organization.ENDPOINTS,
    *websites.ENDPOINTS,
    *keys.ENDPOINTS,
    *audit.ENDPOINTS,
    *rate_limits.ENDPOINTS,
    *quarantine.ENDPOINTS,
    *refused_items.ENDPOINTS,
    *replays.ENDPOINTS,
)
