"""Profiles of visitors, found by going through all identities ever sent."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from tests.oracle.stored_rows import Row

TABLES = frozenset(("events", "errors", "vitals", "engagement", "identities"))
"""Tables whose rows have a visitor."""
PROFILE = "visitor.profile_id"
TRAITS = "visitor_traits"
TRAIT = "traits.plan"
"""The trait that filters of the oracle name."""


class Person(Struct, frozen=True):
    """Who is known by an anonymous id."""

    profile_id: str | None
    traits: str | None
    name: str | None
    """One of the anonymous ids of the profile, the same for all of them."""


class Profiles:
    """The newest identity of each device, with the newest traits of any device of its profile."""

    def __init__(self, identities: Iterable[Row]) -> None:
        self._sent = list(identities)
        self._known: dict[str | None, Person] = {}
        devices = {row["anonymous_id"] for row in self._sent} - {None}
        self._profile_of = {
            device: believed(self._sent, "anonymous_id", device)[-1]["profile_id"]
            for device in devices
        }

    def person(self, device: str | None) -> Person:
        """The person of a device; a device without an identity is its own person."""
        if device not in self._known:
            self._known[device] = self._find(device)
        return self._known[device]

    def _find(self, device: str | None) -> Person:
        profile = self._profile_of.get(device) if device is not None else None
        if profile is None:
            return Person(None, None, device)
        sent = believed(self._sent, "profile_id", profile)
        traits = [row["traits"] for row in sent if row.get("traits") is not None]
        names = [each for each, mine in self._profile_of.items() if mine == profile]
        return Person(profile, traits[-1] if traits else None, min(names))

    def told(self, row: Row, together: bool) -> Row:
        """The row with who its visitor is: a person if devices count `together`, else a device."""
        person = self.person(row.get("anonymous_id"))
        traits = json.loads(person.traits or "{}")
        return {
            **row,
            PROFILE: person.profile_id,
            TRAITS: person.traits,
            TRAIT: traits.get("plan"),
            "device": row.get("anonymous_id"),
            "person": person.name if together else row.get("anonymous_id"),
        }


def believed(identities: Sequence[Row], column: str, value: Any) -> list[Row]:
    """The identities with that value; only servers' identities once a server sent one."""
    sent = [row for row in identities if row[column] == value]
    by_server = [row for row in sent if row.get("trusted")]
    return by_server or sent


def merged(row: Row) -> Row:
    """The row under the name of its person; `device` is its own anonymous id."""
    return {**row, "anonymous_id": row["person"]}
