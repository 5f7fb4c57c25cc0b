"""The endpoints of all resources that queries are about or that they use."""

from query.dependencies import QueryEndpoint
from query.resources import (
    account,
    audit,
    erasures,
    imports,
    invitations,
    keys,
    links,
    organization,
    people,
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

ENDPOINTS: tuple[QueryEndpoint, ...] = (
    *receipts.ENDPOINTS,
    *links.ENDPOINTS,
    *imports.ENDPOINTS,
    *erasures.ENDPOINTS,
    *shared_dashboards.ENDPOINTS,
    *saved_records.ENDPOINTS,
    *sign_in.ENDPOINTS,
    *invitations.ENDPOINTS,
    *account.ENDPOINTS,
    *people.ENDPOINTS,
    *organization.ENDPOINTS,
    *websites.ENDPOINTS,
    *keys.ENDPOINTS,
    *audit.ENDPOINTS,
    *rate_limits.ENDPOINTS,
    *quarantine.ENDPOINTS,
    *refused_items.ENDPOINTS,
    *replays.ENDPOINTS,
)
