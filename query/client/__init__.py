"""Python client, standard library only (Python 3.11 or later).

A running service has it in one file, to be copied: /docs/tidemark_client.py.

    client = Client("http://127.0.0.1:4001", key="tm_…", collect_url="http://127.0.0.1:4000")
    client.ask("top_pages", website_id="…", preset="last_7d", filters="country = DE")
    client.ask("funnel", steps=["/", "/pricing", "signup"], website_id="…", start="2026-11-01")
    client.metrics("visits, conversions(Sign-up)", by="path", website_id="…", preset="today")
    client.custom({"table": "events", "selects": […]}, website_id="…", preset="today").frame()
    client.track({"name": "signup"}, website_id="…")

Rows are dicts. Temporary failures (429, 503, broken connections) are retried; items keep their
event ids, so that repeated ones are stored once. Errors are a ServiceError or a TransferError.
"""

from query.client.client import Client
from query.client.errors import (
    AccessDenied,
    Broken,
    ClientError,
    InvalidRequest,
    Refused,
    ServiceError,
    ServiceUnavailable,
    TooManyRequests,
    TransferError,
)
from query.client.filters import parse_filter, to_filters
from query.client.items import Sent
from query.client.metric_terms import parse_metrics
from query.client.rows import Rows

__all__ = [
    "AccessDenied",
    "Broken",
    "Client",
    "ClientError",
    "InvalidRequest",
    "Refused",
    "Rows",
    "Sent",
    "ServiceError",
    "ServiceUnavailable",
    "TooManyRequests",
    "TransferError",
    "parse_filter",
    "parse_metrics",
    "to_filters",
]
