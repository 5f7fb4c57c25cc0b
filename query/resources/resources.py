"""The endpoints of all resources that queries are about or that they use."""

from query.dependencies import QueryEndpoint
from query.resources import (
    imports,
    links,
    management,
    receipts,
    saved_records,
    shared_dashboards,
    sign_in,
)

ENDPOINTS: tuple[QueryEndpoint, ...] = (
    *receipts.ENDPOINTS,
    *links.ENDPOINTS,
    *imports.ENDPOINTS,
    *shared_dashboards.ENDPOINTS,
    *saved_records.ENDPOINTS,
    *sign_in.ENDPOINTS,
    *management.ENDPOINTS,
)
