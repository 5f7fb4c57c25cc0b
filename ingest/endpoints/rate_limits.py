"""How a request is counted: when it arrives, and with size and items once the items are good.

With a key it counts at once, good or bad: the key says whose fault it is. Without one, only what
is good counts against the website; what is refused counts against the network that sent it.
"""

from collections.abc import Sequence

from starlette.types import Scope

from ingest.decoding.auth import Sender
from ingest.dependencies import Dependencies
from schemas.errors import RateLimitExceeded
from schemas.http.admission import Admission, rejection_cost
from schemas.http.asgi import WHOLE_BODY_KEY
from schemas.http.rate_limit import RateLimitBucket
from schemas.plans import Group

Buckets = Sequence[RateLimitBucket]

SMALL_BODY_BYTES = 4_096
LARGE_BODY = bytes(SMALL_BODY_BYTES + 1)
"""Stands for a body that is not at hand."""


def admit_request(
    desk: Dependencies, scope: Scope, sender: Sender | None, network: str, now_ms: int
) -> Buckets:
    """LimitExceeded when nothing more fits, before a body costs anything.

    Of an unknown sender only the network is looked at, and so of one whose body is small and at
    hand: to decode that takes no longer than to look.
    """
    admission = desk.middleware.admission
    if sender is not None and sender.trusted:
        return (admission.count_with_key(scope, sender.organization, Group.COLLECT),)
    admission.check_network(scope, network, now_ms)
    if sender is None or len(scope.get(WHOLE_BODY_KEY) or LARGE_BODY) <= SMALL_BODY_BYTES:
        return ()
    buckets = _buckets(admission, sender, network, now_ms)
    admission.check_buckets(scope, buckets, now_ms)
    return buckets


def count_request(
    desk: Dependencies,
    scope: Scope,
    sender: Sender,
    network: str,
    buckets: Buckets,
    size: int,
    items: int,
) -> None:
    """Count so many good items and their bytes; LimitExceeded when they do not fit."""
    admission = desk.middleware.admission
    if sender.trusted:
        admission.more(scope, buckets[0], size, items)
        return
    now = desk.clock()
    try:
        counted_in = buckets or _buckets(admission, sender, network, now)
        admission.count_anonymous(scope, counted_in, now, size, items)
    except RateLimitExceeded:  # what was decoded for nothing is the network's fault
        if cost := rejection_cost(items, size):
            admission.charge_network(network, cost)
        raise


def charge_rejects(desk: Dependencies, sender: Sender, network: str, rejected: int) -> None:
    """Count what a good request had of bad items, as of a request that is refused."""
    if not sender.trusted and (cost := rejection_cost(rejected, 0)):
        desk.middleware.admission.charge_network(network, cost)


def _buckets(admission: Admission, sender: Sender, network: str, now_ms: int) -> Buckets:
    return admission.anonymous_buckets(
        network, sender.organization, Group.COLLECT, sender.subject_id, now_ms
    )
