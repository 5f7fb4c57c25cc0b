"""PLANS: rate limits per minute (requests, bytes, items) by plan and endpoint group."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

WINDOW_SECONDS = 60
MIB = 1024 * 1024
NO_LIMIT = 2**62


class Group(StrEnum):
    """Endpoint groups; each has a rate limit of its own."""

    COLLECT = "collect"
    QUERY = "query"
    CUSTOM = "custom"
    LINKS = "links"
    """Reads and writes of links and imports."""
    RECORDS = "records"
    """Reads and writes of goals, segments, annotations and money properties."""
    REDIRECTS = "redirects"
    """Visitors who follow links; apart, so that no other traffic can block them."""
    PUBLIC = "public"
    """Requests without a tenant, and rejected requests without a key, by client network."""


class Limit(Struct, frozen=True, gc=False):
    """Limit of one window."""

    requests: int
    bytes: int = NO_LIMIT
    """Bytes of decompressed bodies."""
    items: int = NO_LIMIT
    """Valid items, because each is work for the stream workers."""


COLLECT_MIB = "collect_mib"
"""Name of an organization's own limit of collected MiB per minute."""
COLLECT_ITEMS = "collect_items"
"""Name of an organization's own limit of collected items per minute."""
LIMIT_NAMES = (*Group, COLLECT_MIB, COLLECT_ITEMS)
"""Limits that an organization can have of its own."""

ITEMS_PER_REQUEST = 10
"""Items per request of a limit: requests with one item each never reach the item limit first."""

NETWORK_DIVISOR = 2
"""One client network without a key may use half of a limit."""

BURST_SHARE = 6
"""A sixth of a minute's items or bytes may come within five seconds: twice the even rate. Bursts
delay the items of all tenants."""
BURST_ITEMS, BURST_BYTES = 5_000, 8 * MIB
"""Allowed within five seconds for every plan."""

PLANS: Mapping[str, Mapping[Group, Limit]] = {
    plan: dict(
        zip(
            Group,
            (
                Limit(collect, mib * MIB, collect * ITEMS_PER_REQUEST),
                *(Limit(requests) for requests in others),
            ),
            strict=True,
        )
    )
    for plan, (collect, mib, *others) in {
        #               collect  and MiB   query  custom   links  records   redirects  public
        "free":       (    6_000,     64,    120,     30,     60,     120,     60_000, 6_000),
        "pro":        (   60_000,    512,    600,    120,    300,     600,    600_000, 6_000),
        "scale":      (  600_000,  4_096,  3_000,    600,  1_200,   3_000,  6_000_000, 6_000),
        "enterprise": (6_000_000, 32_768, 30_000,  6_000, 12_000,  30_000, 60_000_000, 6_000),
    }.items()
}  # fmt: skip

MAX_LINKS: Mapping[str, int] = {"free": 1_000, "pro": 5_000, "scale": 10_000, "enterprise": 10_000}
"""Maximum links of an organization: slugs are one name space for all organizations."""


def limit_for(plan: str, group: Group, own: Mapping[str, int]) -> Limit:
    """The limit of a group; `own` are the organization's own limits."""
    limit = PLANS[plan][group]
    requests = own.get(group, limit.requests)
    if group is not Group.COLLECT:
        return Limit(requests)
    size = own[COLLECT_MIB] * MIB if COLLECT_MIB in own else limit.bytes
    items = max(limit.items, requests * ITEMS_PER_REQUEST)
    return Limit(requests, size, own.get(COLLECT_ITEMS, items))


def network_limit(limit: Limit) -> Limit:
    """The part of the limit that one client network may use."""
    return Limit(
        max(1, limit.requests // NETWORK_DIVISOR),
        limit.bytes // NETWORK_DIVISOR,
        max(1, limit.items // NETWORK_DIVISOR),
    )
