"""Contract drift: how custom events differ from the event contract of their website.

Only events of websites with a contract are checked. Those that differ are named in the response and
in `/debug`, or rejected where the contract says so. Imported events are not checked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, structs

from ingest.decoding.decoder import AcceptedItems, RejectedItem, join_items, none_accepted_error
from ingest.decoding.ignored_members import MAX_LISTED_ITEMS, MAX_LISTED_NAMES, MAX_NAME_LENGTH
from schemas.errors import ContractRefused
from schemas.event_contract import ContractChecker, Drift
from schemas.items import Item
from schemas.registry.website_contracts import WebsiteContracts
from schemas.tables.events import CustomEvent
from schemas.telemetry.instruments import CONTRACT_DRIFT


class DriftingItem(Struct, frozen=True):
    """An accepted item that differs from the contract of its website, as responses show it."""

    index: int
    names: Sequence[str]
    """The properties that differ; empty for an event that is not in the contract."""
    message: str


class ItemDrift(Struct, frozen=True):
    """How one accepted item differs."""

    index: int
    website_id: str
    drifts: Sequence[Drift]


def check_contracts(
    accepted: AcceptedItems,
    subject_id: str,
    contracts: WebsiteContracts,
    can_reach: Callable[[str], bool],
) -> tuple[AcceptedItems, Sequence[ItemDrift]]:
    """The items that no contract refuses, and their drift.

    `subject_id` is the website of items that name none. NoneAccepted if no item remains.
    """
    if contracts.keys().isdisjoint([item.website_id or subject_id for item in accepted.items]):
        return accepted, ()
    drifting: list[ItemDrift] = []
    refused: dict[int, RejectedItem] = {}
    for position, (item, index) in enumerate(zip(accepted.items, accepted.indexes, strict=True)):
        website_id = item.website_id or subject_id
        contract = contracts.get(website_id)
        # A sender never sees the contract of another tenant.
        if contract is None or not (website_id == subject_id or can_reach(website_id)):
            continue
        if not (drifts := drifts_of(contract.checker, item)):
            continue
        if contract.refuses:
            reason = f"{drift_message(drifts)} (the contract of the website refuses it)"
            refused[position] = RejectedItem(index, ContractRefused.code, reason)
        else:
            drifting.append(ItemDrift(index, website_id, drifts))
    if drifting:
        CONTRACT_DRIFT.labels("accepted").inc(len(drifting))
    if refused:
        CONTRACT_DRIFT.labels("refused").inc(len(refused))
    return (_without(accepted, refused) if refused else accepted), drifting


def drifts_of(checker: ContractChecker, item: Item) -> Sequence[Drift]:
    """The first drifts of a decoded item; only custom events have contracts."""
    if not isinstance(item, CustomEvent):
        return ()
    # Declared as raw JSON; the strict types of the collector decode it.
    properties = cast("Mapping[str, Any] | None", item.properties)
    return checker.drifts(item.name, properties or {})[:MAX_LISTED_NAMES]


def drift_message(drifts: Sequence[Drift]) -> str:
    """The drifts as text, for senders."""
    return "; ".join(str(_shortened(drift)) for drift in drifts)


def listed_drift(drifting: Sequence[ItemDrift]) -> list[DriftingItem]:
    """The first items that differ, as responses show them."""
    return [
        DriftingItem(
            one.index,
            [drift.property for drift in map(_shortened, one.drifts) if drift.property is not None],
            drift_message(one.drifts),
        )
        for one in drifting[:MAX_LISTED_ITEMS]
    ]


def _shortened(drift: Drift) -> Drift:
    """The drift with its names cut: a sender decides how long they are."""
    name = drift.property
    return Drift(
        drift.event[:MAX_NAME_LENGTH],
        None if name is None else name[:MAX_NAME_LENGTH],
        drift.problem,
    )


def _without(accepted: AcceptedItems, refused: Mapping[int, RejectedItem]) -> AcceptedItems:
    """The items without the refused ones, by position; NoneAccepted if none remains."""
    positions = [position for position in range(len(accepted.items)) if position not in refused]
    rejected = sorted((*accepted.rejected, *refused.values()), key=lambda reject: reject.index)
    if not positions:
        raise none_accepted_error(rejected)
    raw_items = accepted.raw_items()
    indexes = [accepted.indexes[position] for position in positions]
    return structs.replace(
        accepted,
        items=[accepted.items[position] for position in positions],
        array=join_items([bytes(raw_items[position]) for position in positions]),
        indexes=indexes,
        rejected=rejected,
        ignored=[ignored for ignored in accepted.ignored if ignored.index in indexes],
    )
