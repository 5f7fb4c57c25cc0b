"""Time zones and countries of the tz database."""

from functools import cache
from importlib.resources import files

KOSOVO = "XK"
"""Not in ISO 3166, but in every geo database."""

OLD_NAMES = {
    "Africa/Asmera": "Africa/Asmara",
    "Africa/Timbuktu": "Africa/Bamako",
    "America/Coral_Harbour": "America/Atikokan",
    "America/Virgin": "America/St_Thomas",
    "Antarctica/South_Pole": "Antarctica/McMurdo",
    "Atlantic/Jan_Mayen": "Arctic/Longyearbyen",
    "Iceland": "Atlantic/Reykjavik",
    "Pacific/Ponape": "Pacific/Pohnpei",
    "Pacific/Truk": "Pacific/Chuuk",
    "Pacific/Yap": "Pacific/Chuuk",
}
"""Old names that the tz database links to a zone of another country with the same time."""
OF_NO_COUNTRY = ("CET", "EET", "EST", "HST", "MET", "MST", "WET")
"""Names of a time that several countries have; the tz database links them to one of these."""
SHORT_NAMES = {"Etc/UTC": "UTC"}
"""Zones that browsers call by another of their names."""


@cache
def countries() -> frozenset[str]:
    """ISO 3166 codes of all countries."""
    return frozenset({KOSOVO, *(fields[0] for fields in _table("iso3166.tab"))})


@cache
def countries_by_zone() -> dict[str, str]:
    """Country by time zone, old names (`Asia/Calcutta`) too: browsers still send them."""
    countries_of_zones = _countries_of_zones()
    return {
        name: countries_of_zones[zone]
        for name, zone in _zones_by_name().items()
        if zone in countries_of_zones
    }


@cache
def zone_names() -> dict[str, str]:
    """The present name of a time zone by the lower-case form of each of its names.

    A zone of a country stays what it is, also where the tz database has another with the same time
    (`Europe/Oslo`, a link to `Europe/Berlin`).
    """
    return {name.lower(): SHORT_NAMES.get(zone, zone) for name, zone in _zones_by_name().items()}


def _zones_by_name() -> dict[str, str]:
    links = _links()
    of_itself = {*(zone for zone, _ in links), *_countries_of_zones(), *OF_NO_COUNTRY}
    return {
        **{alias: zone for zone, alias in links},
        **OLD_NAMES,
        **{zone: zone for zone in of_itself},
    }


@cache
def _countries_of_zones() -> dict[str, str]:
    return {zone: country for country, _, zone, *_ in _table("zone.tab")}


def _links() -> list[tuple[str, str]]:
    lines = (line.split() for line in _lines("tzdata.zi") if line.startswith("L "))
    return [(zone, alias) for _, zone, alias in lines]


def _table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in _lines(name) if not line.startswith("#")]


def _lines(name: str) -> list[str]:
    return files("tzdata").joinpath("zoneinfo").joinpath(name).read_text().splitlines()
