"""GET /v1/receipts/{receipt}: what became of the items that a request brought.

The table's next offset says whether a worker has read them; the quarantine says which of them are
not rows. The main table is asked first: its commit is the last of a batch, so that a quarantine
that is looked at later holds whatever the batch left there.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import Desk
from query.engine.quarantine import Aside, Place, set_aside
from query.response.json_value import answered
from schemas.errors import NotFound
from schemas.http.auth import reach_organization, reach_website
from schemas.kinds import EVERY_KIND, Kind
from schemas.plans import Group
from schemas.receipts import NoReceipt, Receipt
from schemas.registry import Key, Scope
from schemas.runtime.clock import iso
from schemas.tables import QUARANTINE

DUPLICATE = "duplicate"
"""Stage of the quarantine's rows about items that were seen before."""

OF_TOPIC: Mapping[str, Kind] = {kind.topic: kind for kind in EVERY_KIND}


class State(StrEnum):
    """What became of an item."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    PENDING = "pending"
    """In Kafka for sure; a worker is yet to read it."""
    LOST = "lost"
    """Kafka's topic was deleted, or its time was up, before a worker could read it."""
    UNKNOWN = "unknown"
    """Kafka has it, but could not say where."""


class Fate(Struct, frozen=True):
    """One item, by its place in the request."""

    index: int
    state: State
    stage: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


async def look_up(desk: Desk, request: Request) -> Response:
    """The fate of each item, and how many share it."""
    key = desk.admit(request, Scope.READ_DATA, Group.QUERY, Scope.TRACK_EVENTS)
    text = request.path_params["receipt"]
    try:
        receipt = desk.registry.receipts.read(text)
        kind = OF_TOPIC[receipt.topic]
    except NoReceipt as none:
        raise NotFound(str(none)) from None
    except KeyError:
        raise NotFound(NoReceipt.UNKNOWN) from None
    owners = _owners(desk, key, receipt)
    fates = await _fates(desk, key, kind, receipt, owners)
    states = [fate.state for fate in fates]
    return answered(
        {
            "success": True,
            "data": {
                "receipt": text,
                "type": kind.name,
                "receivedAt": iso(receipt.received_ms),
                "total": receipt.count,
                "counts": {state: states.count(state) for state in State},
                "items": fates,
            },
        }
    )


def _owners(desk: Desk, key: Key, receipt: Receipt) -> Sequence[str]:
    """Under which ids the items were sent; Forbidden when the key does not reach them."""
    owner = receipt.owner
    if owner not in desk.registry.organizations:
        return (reach_website(desk.registry, key, owner).id,)
    reach_organization(desk.registry, key, owner)
    return (owner, *desk.registry.websites_of.get(owner, ()))


async def _fates(
    desk: Desk, key: Key, kind: Kind, receipt: Receipt, owners: Sequence[str]
) -> list[Fate]:
    if receipt.offset < 0:
        return _alike(receipt, State.UNKNOWN)
    epoch = await desk.positions.epoch_of(kind.table, receipt)
    if epoch is None:
        return _alike(receipt, State.PENDING)  # of a topic that no worker has met yet
    where = (epoch, receipt.topic, receipt.partition)
    if (await desk.positions.of(kind.table, *where)).next <= receipt.offset:
        old = epoch < await desk.positions.newest_epoch(kind.table, receipt.topic)
        return _alike(receipt, State.LOST if old else State.PENDING)
    aside = await desk.positions.of(QUARANTINE, *where)
    if aside.next <= receipt.offset:
        return _alike(receipt, State.STORED)
    pinned = await desk.shelf.pin(QUARANTINE, least=aside.version)
    engine = desk.standard.of(key.organization_id)
    place = Place(
        desk.positions.topic(receipt.topic), epoch, receipt.partition, desk.positions.epoch
    )
    if await desk.gone.holds(engine, pinned, place, receipt.offset, desk.seconds):
        return _alike(receipt, State.LOST)
    found = await set_aside(engine, pinned, place, receipt, owners, desk.seconds)
    return _told_apart(receipt, found)


def _alike(receipt: Receipt, state: State) -> list[Fate]:
    return [Fate(index, state) for index in _places(receipt)]


def _told_apart(receipt: Receipt, found: Sequence[Aside]) -> list[Fate]:
    """Each item's own fate: stored unless it was set aside, alone or with its whole chunk."""
    by_seq = {aside.seq: aside for aside in found}
    whole = by_seq.get(None)
    return [
        _fate(index, by_seq.get(seq, whole))
        for seq, index in enumerate(_places(receipt), receipt.first)
    ]


def _fate(index: int, aside: Aside | None) -> Fate:
    if aside is None:
        return Fate(index, State.STORED)
    if aside.stage == DUPLICATE:
        return Fate(index, State.DUPLICATE, reason=aside.reason)
    return Fate(index, State.QUARANTINED, aside.stage, aside.reason)


def _places(receipt: Receipt) -> Sequence[int]:
    return range(receipt.count) if receipt.places is None else receipt.places
