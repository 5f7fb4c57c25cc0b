"""The endpoints that manage an organization and its websites."""

from query.resources import (
    audit,
    keys,
    organization,
    quarantine,
    rate_limits,
    website_set_up,
    websites,
)

ENDPOINTS = (
    *organization.ENDPOINTS,
    *websites.ENDPOINTS,
    *website_set_up.ENDPOINTS,
    *keys.ENDPOINTS,
    *audit.ENDPOINTS,
    *rate_limits.ENDPOINTS,
    *quarantine.ENDPOINTS,
)
