"""Country, region and city: of the cut address, else of the proxy's header, else of the time zone.

A time zone names a country and no more. A server's address is not its visitor's, so what a server
sends is placed by time zone only.
"""

from functools import cache
from importlib.resources import files

from schemas.envelope import Envelope
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.places import NOWHERE, Place
from stream.rows import Rows

NO_COUNTRY = frozenset(("", "XX", "T1"))
"""What the proxy writes for unknown and for Tor."""


def put_place(rows: Rows, lookups: Lookups) -> None:
    found: Memo[str, Place] = Memo(lookups.places.find)
    places = rows.per_envelope(lambda envelope: place_of(envelope, found))
    countries = zones()
    rows.columns["country"] = [
        place.country or (countries.get(zone) if zone else None)
        for place, zone in zip(places, rows.given("timezone"), strict=True)
    ]
    rows.columns["region"] = [place.region for place in places]
    rows.columns["city"] = [place.city for place in places]


def place_of(envelope: Envelope, found: Memo[str, Place]) -> Place:
    """The place of an envelope's sender."""
    if envelope.trusted:
        return NOWHERE
    place = found[envelope.address] if envelope.address else NOWHERE
    if place.country:
        return place
    header = envelope.headers.get("cf-ipcountry", "").strip().upper()
    if header in NO_COUNTRY or len(header) != 2 or not header.isalpha():
        return NOWHERE
    return Place(header)


@cache
def zones() -> dict[str, str]:
    """Country by time zone, old names (`Asia/Calcutta`) too: browsers still send them."""
    folder = files("tzdata").joinpath("zoneinfo")
    countries: dict[str, str] = {}
    for line in folder.joinpath("zone.tab").read_text().splitlines():
        if not line.startswith("#"):
            country, _, zone = line.split("\t")[:3]
            countries[zone] = country
    for line in folder.joinpath("tzdata.zi").read_text().splitlines():
        if line.startswith("L "):
            _, zone, alias = line.split()
            if zone in countries:
                countries.setdefault(alias, countries[zone])
    return countries
