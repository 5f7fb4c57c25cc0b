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
    personal_keys,
    quarantine,
    rate_limits,
    receipts,
    refused_items,
    replays,
    saved_records,
    shared_dashboards,
    sign_in,
    unsubscribe,
    websites,
)
from query.resources.oidc import oidc_endpoints
from query.resources.vouched_sign_in import sign_in_by_email

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
    *personal_keys.ENDPOINTS,
    *people.ENDPOINTS,
    *oidc_endpoints(sign_in_by_email),
    *organization.ENDPOINTS,
    *websites.ENDPOINTS,
    *keys.ENDPOINTS,
    *audit.ENDPOINTS,
    *rate_limits.ENDPOINTS,
    *quarantine.ENDPOINTS,
    *unsubscribe.ENDPOINTS,
    *refused_items.ENDPOINTS,
    *replays.ENDPOINTS,
)
