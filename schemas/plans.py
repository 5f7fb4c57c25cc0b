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
    """What makes and changes links and imports."""
    REDIRECTS = "redirects"
    """People who follow links: whoever fills another allowance holds none of them up."""
    PUBLIC = "public"
    """Requests that name no tenant, by cut address."""


PLANS: Mapping[str, Mapping[Group, int]] = {
    plan: dict(zip(Group, limits, strict=True))
    for plan, limits in {
        #               collect    query  custom   links   redirects  public
        "free":       (    6_000,    120,     30,     60,     60_000, 6_000),
        "pro":        (   60_000,    600,    120,    300,    600_000, 6_000),
        "scale":      (  600_000,  3_000,    600,  1_200,  6_000_000, 6_000),
        "enterprise": (6_000_000, 30_000,  6_000, 12_000, 60_000_000, 6_000),
    }.items()
}  # fmt: skip


def allowance(plan: str, group: Group, own: Mapping[str, int]) -> int:
    """Requests per window; `own` are the organization's agreed limits by group."""
    return own.get(group, PLANS[plan][group])
