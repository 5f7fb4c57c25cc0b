"""PLANS: rate limits per minute (requests, bytes, items) by plan and endpoint group."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

WINDOW_SECONDS = 60
MIB = 1024 * 1024
NO_LIMIT = 2**62


class Group(StrEnum):
    """Endpoint groups that are limited on their own."""

    COLLECT = "collect"
    QUERY = "query"
    CUSTOM = "custom"
    LINKS = "links"
    """What makes and changes links and imports."""
    REDIRECTS = "redirects"
    """People who follow links: whoever fills another allowance holds none of them up."""
    PUBLIC = "public"
    """Requests that name no tenant, and refused ones of strangers, by cut address."""


class Limit(Struct, frozen=True, gc=False):
    """What fits into one window."""

    requests: int
    bytes: int = NO_LIMIT
    """Of bodies, unpacked."""
    items: int = NO_LIMIT
    """Good items: what the workers behind have to do."""


COLLECT_MIB = "collect_mib"
"""Name of an organization's agreed MiB per minute for what it collects."""
COLLECT_ITEMS = "collect_items"
"""Name of an organization's agreed items per minute for what it collects."""
LIMIT_NAMES = (*Group, COLLECT_MIB, COLLECT_ITEMS)
"""What an organization may have agreed limits for."""

ITEMS_PER_REQUEST = 10
"""Items that go with each request of a limit: requests of one item never meet the items first."""

NETWORK_DIVISOR = 2
"""One client network without a key may use that part of a limit: half of it."""

BURST_SHARE = 6
"""That part of a minute's items or bytes may come within five seconds: twice what an even sender
sends. What comes at once is work that everybody waits for."""
BURST_ITEMS, BURST_BYTES = 5_000, 8 * MIB
"""So much may always come within five seconds."""

PLANS: Mapping[str, Mapping[Group, Limit]] = {
    plan: dict(
        zip(
            Group,
            (
                Limit(collect, mib * MIB, collect * ITEMS_PER_REQUEST),
                *(Limit(each) for each in others),
            ),
            strict=True,
        )
    )
    for plan, (collect, mib, *others) in {
        #               collect  and MiB   query  custom   links   redirects  public
        "free":       (    6_000,     64,    120,     30,     60,     60_000, 6_000),
        "pro":        (   60_000,    512,    600,    120,    300,    600_000, 6_000),
        "scale":      (  600_000,  4_096,  3_000,    600,  1_200,  6_000_000, 6_000),
        "enterprise": (6_000_000, 32_768, 30_000,  6_000, 12_000, 60_000_000, 6_000),
    }.items()
}  # fmt: skip

MAX_LINKS: Mapping[str, int] = {"free": 1_000, "pro": 5_000, "scale": 10_000, "enterprise": 10_000}
"""Slugs are first come for all organizations: who has no agreement takes only so many."""


def limit_for(plan: str, group: Group, own: Mapping[str, int]) -> Limit:
    """What fits into one window; `own` are the organization's agreed limits."""
    limit = PLANS[plan][group]
    requests = own.get(group, limit.requests)
    if group is not Group.COLLECT:
        return Limit(requests)
    size = own[COLLECT_MIB] * MIB if COLLECT_MIB in own else limit.bytes
    items = max(limit.items, requests * ITEMS_PER_REQUEST)
    return Limit(requests, size, own.get(COLLECT_ITEMS, items))


def network_limit(limit: Limit) -> Limit:
    """The share of one client network."""
    return Limit(
        max(1, limit.requests // NETWORK_DIVISOR),
        limit.bytes // NETWORK_DIVISOR,
        max(1, limit.items // NETWORK_DIVISOR),
    )
