"""Reads the record formats of the usual .mmdb databases.

| format                       | country            | region                     | city            |
|------------------------------|--------------------|----------------------------|-----------------|
| flat (`@ip-location-db`)     | `country_code`     | `state1`                   | `city`          |
| nested (MaxMind's, DB-IP's)  | `country.iso_code` | `subdivisions[0].names.en` | `city.names.en` |
| flat, `country` (IPinfo's)   | `country`          | `region`                   | `city`          |
"""

from typing import Any

from msgspec import Struct

from stream.enrich.rules.time_zones import countries

MAX_PLACE_NAME_LENGTH = 128
"""Characters of a region's or city's name that are stored."""

HOSTING_KEYS = ("is_hosting_provider", "hosting", "is_hosting")


class Location(Struct, frozen=True):
    """Where a request came from; None where unknown."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    is_data_centre: bool = False
    """Whether the address belongs to a hosting provider."""


NO_LOCATION = Location()


def parse_record(record: dict[str, Any]) -> Location:
    """The location in a record of any format; unexpected values count as absent."""
    country = country_code(
        record.get("country_code")
        or _key(record.get("country"), "iso_code")
        or record.get("country")
    )
    if country is None:
        return NO_LOCATION
    region = record.get("state1") or _first_name(record.get("subdivisions")) or record.get("region")
    city = record.get("city")
    traits = record.get("traits")
    return Location(
        country,
        _text(region),
        # Some files add the district in brackets, which would split a city.
        _text(_name(city) if isinstance(city, dict) else city, end=" ("),
        any(
            part.get(name) is True
            for part in (record, traits)
            if isinstance(part, dict)
            for name in HOSTING_KEYS
        ),
    )


def country_code(value: object) -> str | None:
    """An ISO 3166 code in capitals; None for anything else (`XX`, `T1`, `EU`)."""
    code = value.strip().upper() if isinstance(value, str) else ""
    return code if code in countries() else None


def _text(value: object, end: str = "\n") -> str | None:
    return (
        value.partition(end)[0].strip()[:MAX_PLACE_NAME_LENGTH] or None
        if isinstance(value, str)
        else None
    )


def _key(part: object, key: str) -> object:
    return part.get(key) if isinstance(part, dict) else None


def _name(part: object) -> object:
    return _key(_key(part, "names"), "en")


def _first_name(parts: object) -> object:
    return _name(parts[0]) if isinstance(parts, list) and parts else None
