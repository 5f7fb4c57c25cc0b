"""Time zones and countries of the tz database."""

from functools import cache
from importlib.resources import files

KOSOVO = "XK"
"""Not in ISO 3166, but in every geo database."""

OLD_NAMES = {
    "Africa/Asmera": "ER",
    "Africa/Timbuktu": "ML",
    "America/Coral_Harbour": "CA",
    "America/Virgin": "VI",
    "Antarctica/South_Pole": "AQ",
    "Atlantic/Jan_Mayen": "SJ",
    "Iceland": "IS",
    "Pacific/Ponape": "FM",
    "Pacific/Truk": "FM",
    "Pacific/Yap": "FM",
}
"""Countries of old names that are links to a zone of another country with the same time."""
OF_NO_COUNTRY = ("CET", "EET", "EST", "HST", "MET", "MST", "WET")
"""Names of a time that several countries have; the tz database links them to one of these."""


@cache
def countries() -> frozenset[str]:
    """ISO 3166 codes of all countries."""
    return frozenset({KOSOVO, *(fields[0] for fields in _table("iso3166.tab"))})


@cache
def countries_by_zone() -> dict[str, str]:
    """Country by time zone, old names (`Asia/Calcutta`) too: browsers still send them."""
    by_zone = {zone: country for country, _, zone, *_ in _table("zone.tab")} | OLD_NAMES
    for zone, alias in _links():
        if zone in by_zone:
            by_zone.setdefault(alias, by_zone[zone])
    return {zone: country for zone, country in by_zone.items() if zone not in OF_NO_COUNTRY}


@cache
def zone_names() -> dict[str, str]:
    """Every name of a time zone by its lower-case form."""
    names = {
        *countries_by_zone(),
        *(alias for _, alias in _links()),
        *(zone for zone, _ in _links()),
    }
    return {name.lower(): name for name in names}


def _links() -> list[tuple[str, str]]:
    lines = (line.split() for line in _lines("tzdata.zi") if line.startswith("L "))
    return [(zone, alias) for _, zone, alias in lines]


def _table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in _lines(name) if not line.startswith("#")]


def _lines(name: str) -> list[str]:
    return files("tzdata").joinpath("zoneinfo").joinpath(name).read_text().splitlines()
