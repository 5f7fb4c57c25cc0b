"""How a request is counted: when it arrives, and with size and items once the items are good.

With a key it counts at once, good or bad: the key says whose fault it is. Without one, only what
is good counts against the website; what is refused counts against the network that sent it.
"""

from collections.abc import Sequence

from starlette.types import Scope

from ingest.decoding.auth import Sender
from ingest.dependencies import Desk
from schemas.errors import LimitExceeded
from schemas.http.admission import Admission, work
from schemas.http.asgi import WHOLE_BODY
from schemas.http.rate_limit import Bucket
from schemas.plans import Group

Buckets = Sequence[Bucket]

SMALL = 4_096
LARGE = bytes(SMALL + 1)
"""Stands for a body that is not at hand."""


def admit(desk: Desk, scope: Scope, sender: Sender | None, network: str, now_ms: int) -> Buckets:
    """LimitExceeded when nothing more fits, before a body costs anything.

    Of an unknown sender only the network is looked at, and so of one whose body is small and at
    hand: to decode that takes no longer than to look.
    """
    admission = desk.edge.admission
    if sender is not None and sender.trusted:
        return (admission.keyed(scope, sender.organization, Group.COLLECT),)
    admission.check_network(scope, network, now_ms)
    if sender is None or len(scope.get(WHOLE_BODY) or LARGE) <= SMALL:
        return ()
    buckets = _buckets(admission, sender, network, now_ms)
    admission.check(scope, buckets, now_ms)
    return buckets


def count(
    desk: Desk,
    scope: Scope,
    sender: Sender,
    network: str,
    buckets: Buckets,
    size: int,
    items: int,
) -> None:
    """Count so many good items and their bytes; LimitExceeded when they do not fit."""
    admission = desk.edge.admission
    if sender.trusted:
        admission.more(scope, buckets[0], size, items)
        return
    now = desk.clock()
    try:
        counted_in = buckets or _buckets(admission, sender, network, now)
        admission.anonymous(scope, counted_in, now, size, items)
    except LimitExceeded:  # what was decoded for nothing is the network's fault
        if cost := work(items, size):
            admission.charge(network, cost)
        raise


def charge(desk: Desk, sender: Sender, network: str, rejected: int) -> None:
    """Count what a good request had of bad items, as of a request that is refused."""
    if not sender.trusted and (cost := work(rejected, 0)):
        desk.edge.admission.charge(network, cost)


def _buckets(admission: Admission, sender: Sender, network: str, now_ms: int) -> Buckets:
    return admission.buckets(network, sender.organization, Group.COLLECT, sender.subject_id, now_ms)
