"""Event contracts of websites: validated for their record, and ready to check events."""

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from schemas.errors import Malformed
from schemas.event_contract import ContractChecker, Enforcement, WebsiteContract
from schemas.registry.records import Website

log = logging.getLogger(__name__)

MAX_CONTRACT_BYTES = 65_536
"""Every process has the contracts of all websites in memory."""
MAX_PROPERTIES, MAX_DEPTH = 250, 10
"""Of one event, and members of a path: collectors look each of them up in each event."""


class ContractOfWebsite(Struct, frozen=True):
    """What the events of a website are checked against."""

    checker: ContractChecker
    refuses: bool


WebsiteContracts = MappingProxyType[str, ContractOfWebsite]
"""By website, of those that have a contract."""
NO_CONTRACTS: WebsiteContracts = MappingProxyType({})


def contract_value(contract: WebsiteContract) -> dict[str, Any]:
    """The contract as the record of a website has it; Malformed if it is too large."""
    for name, event in contract.contract.events.items():
        if len(event.properties) > MAX_PROPERTIES:
            raise Malformed(
                f"'contract.events' may have at most {MAX_PROPERTIES} properties of an event; "
                f"'{name[:40]}' has {len(event.properties):,}"
            )
        if deep := [path for path in event.properties if path.count(".") >= MAX_DEPTH]:
            raise Malformed(
                f"'contract.events' has '{deep[0][:40]}'; a path has at most {MAX_DEPTH} members"
            )
    value: dict[str, Any] = msgspec.to_builtins(contract)
    if (size := len(msgspec.json.encode(value))) > MAX_CONTRACT_BYTES:
        raise Malformed(
            f"'contract' may have at most {MAX_CONTRACT_BYTES:,} bytes as JSON; this one has "
            f"{size:,}"
        )
    return value


def updated_contracts(before: WebsiteContracts, changed: Iterable[Website]) -> WebsiteContracts:
    """The contracts after these websites were created or changed."""
    contracts: Mapping[str, ContractOfWebsite] = {
        website.id: contract
        for website in changed
        if website.contract and (contract := _ready(website)) is not None
    }
    gone = {website.id for website in changed} & before.keys() - contracts.keys()
    if not contracts and not gone:
        return before
    unchanged = {name: contract for name, contract in before.items() if name not in gone}
    return MappingProxyType({**unchanged, **contracts})


def _ready(website: Website) -> ContractOfWebsite | None:
    """None, with a warning, for one that this version cannot read: its events are not checked."""
    try:
        stored = msgspec.convert(website.contract, WebsiteContract)
    except msgspec.ValidationError as error:
        log.warning(
            "event contract not readable", extra={"website": website.id, "reason": str(error)}
        )
        return None
    return ContractOfWebsite(ContractChecker(stored.contract), stored.enforce is Enforcement.REFUSE)
