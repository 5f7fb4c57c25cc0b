"""Places: country, region and city of a cut address, from the operator's .mmdb file."""

from ipaddress import ip_address
from typing import Any

import maxminddb
from msgspec import Struct


class Place(Struct, frozen=True):
    """Where a request came from, as far as known."""

    country: str | None = None
    region: str | None = None
    city: str | None = None


NOWHERE = Place()


class Places:
    """Looks addresses up; without a file every place is unknown."""

    def __init__(self, path: str = "") -> None:
        self._reader = maxminddb.open_database(path) if path else None

    def find(self, address: str) -> Place:
        """The place of an address; unknown for what is no public address."""
        if self._reader is None:
            return NOWHERE
        try:
            if not ip_address(address).is_global:
                return NOWHERE
        except ValueError:
            return NOWHERE
        found = self._reader.get(address)
        return read_record(found) if isinstance(found, dict) else NOWHERE


def read_record(record: dict[str, Any]) -> Place:
    """A record of either shape: flat (`country_code`, `state1`, `city`) or nested by language."""
    country = record.get("country_code") or _nested(record.get("country"), "iso_code")
    regions = record.get("subdivisions") or [{}]
    region = record.get("state1") or _name(regions[0])
    city = record.get("city")
    city = _name(city) if isinstance(city, dict) else city
    # Some files add the district in brackets, which would split a city.
    return Place(country, region or None, city.partition(" (")[0] if city else None)


def _nested(part: Any, key: str) -> str | None:
    return part.get(key) if isinstance(part, dict) else None


def _name(part: Any) -> str | None:
    return _nested(_nested(part, "names"), "en")
