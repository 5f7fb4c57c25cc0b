"""PLANS: requests per minute that each plan allows, by endpoint group, as one table."""

from collections.abc import Mapping
from enum import StrEnum

WINDOW_SECONDS = 60


class Group(StrEnum):
    """Endpoint groups that are limited on their own."""

    COLLECT = "collect"
    QUERY = "query"
    CUSTOM = "custom"
    LINKS = "links"
    PUBLIC = "public"


PLANS: Mapping[str, Mapping[Group, int]] = {
    #                   items in               standard          custom            links           no key
    "free":       {Group.COLLECT: 6_000,     Group.QUERY: 120,     Group.CUSTOM: 30,      Group.LINKS: 60,      Group.PUBLIC: 300},
    "pro":        {Group.COLLECT: 60_000,    Group.QUERY: 600,     Group.CUSTOM: 120,     Group.LINKS: 300,     Group.PUBLIC: 300},
    "scale":      {Group.COLLECT: 600_000,   Group.QUERY: 3_000,   Group.CUSTOM: 600,     Group.LINKS: 1_200,   Group.PUBLIC: 300},
    "enterprise": {Group.COLLECT: 6_000_000, Group.QUERY: 30_000,  Group.CUSTOM: 6_000,   Group.LINKS: 12_000,  Group.PUBLIC: 300},
}  # fmt: skip


def allowance(plan: str, group: Group, own: Mapping[str, int]) -> int:
    """Requests per window; `own` are the organization's agreed limits by group."""
    return own.get(group, PLANS[plan][group])
