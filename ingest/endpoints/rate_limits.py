"""Counts a request against the rate limits of its key, its website or its client network.

With a key a request counts on arrival, valid or not. Without one, accepted items count against
the website, and rejected requests against the client network, so that nobody else can use up the
limit of a website.
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
"""Placeholder for a body that has not arrived yet."""


async def reserve_request(dependencies: Dependencies, sender: Sender, client_network: str) -> None:
    """Wait for the room of a request in small limits, where a server counts them (`reserves`).

    To be awaited for a sender with a key before `admit_request`, else before `count_request`.
    """
    admission = dependencies.middleware.admission
    if sender.trusted:
        await admission.reserve_with_key(sender.organization, Group.COLLECT)
    else:
        await admission.reserve(_buckets(admission, sender, client_network, dependencies.clock()))


def admit_request(
    dependencies: Dependencies,
    scope: Scope,
    sender: Sender | None,
    client_network: str,
    now_ms: int,
) -> Buckets:
    """RateLimitExceeded, before the body is read, if nothing more fits.

    For an unknown sender, and for a small body that has arrived, only the network is checked:
    decoding it takes no longer than checking the other buckets.
    """
    admission = dependencies.middleware.admission
    if sender is not None and sender.trusted:
        return (admission.count_with_key(scope, sender.organization, Group.COLLECT),)
    admission.check_network(scope, client_network, now_ms)
    if sender is None or len(scope.get(WHOLE_BODY_KEY) or LARGE_BODY) <= SMALL_BODY_BYTES:
        return ()
    buckets = _buckets(admission, sender, client_network, now_ms)
    admission.check_buckets(scope, buckets, Group.COLLECT, now_ms)
    return buckets


def count_request(
    dependencies: Dependencies,
    scope: Scope,
    sender: Sender,
    client_network: str,
    buckets: Buckets,
    size: int,
    items: int,
) -> None:
    """Count accepted items and their bytes; RateLimitExceeded if they do not fit."""
    admission = dependencies.middleware.admission
    if sender.trusted:
        admission.count_size(scope, buckets[0], size, items)
        return
    now = dependencies.clock()
    try:
        charged_buckets = buckets or _buckets(admission, sender, client_network, now)
        admission.count_anonymous(scope, charged_buckets, Group.COLLECT, now, size, items)
    except RateLimitExceeded:  # the decoding was wasted: charge the network
        if cost := rejection_cost(items, size):
            admission.charge_network(client_network, cost)
        raise


def charge_rejects(
    dependencies: Dependencies, sender: Sender, client_network: str, rejected: int
) -> None:
    """Charge the network for the rejects of an accepted request, as for a rejected request."""
    if not sender.trusted and (cost := rejection_cost(rejected, 0)):
        dependencies.middleware.admission.charge_network(client_network, cost)


def _buckets(admission: Admission, sender: Sender, client_network: str, now_ms: int) -> Buckets:
    return admission.anonymous_buckets(
        client_network, sender.organization, Group.COLLECT, sender.subject_id, now_ms
    )
