"""Ids of visitors where an export has none (access logs): hashes keyed by the registry."""

from collections.abc import Callable

from schemas.registry import RegistryStore, Selector, Website


def visitor_ids(store: RegistryStore, website: Website) -> Callable[[str], str]:
    """Day, address and user agent → id; without the secret nobody finds the address of an id."""
    key = store.tombstone_key()

    def visitor_of(parts: str) -> str:
        return key.tombstone(Selector.VISITOR, f"{website.id}\0{parts}").partition(":")[2]

    return visitor_of


def blank_visitor(_: str) -> str:
    """The id that a check shows, without a registry."""
    return "(hash of day, address and user agent)"
