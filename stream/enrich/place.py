"""Country, region and city: of the cut address, else of the proxy's header, else of the time zone.

A time zone names a country and no more. A server's address is not its visitor's, so what a server
sends is placed by time zone only.
"""

from schemas.envelope import COUNTRY, Envelope
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.records import NOWHERE, Place, country_code
from stream.enrich.zones import zones
from stream.rows import Rows


def put_place(rows: Rows, lookups: Lookups) -> None:
    lookups.places.refresh()
    found = lookups.places.found
    places = rows.per_envelope(lambda envelope: place_of(envelope, found))
    said = rows.columns.get("timezone") or rows.given("timezone")
    by_zone = zones().get
    rows.columns["country"] = [
        place.country or (by_zone(zone) if zone else None)
        for place, zone in zip(places, said, strict=True)
    ]
    rows.columns["region"] = [place.region for place in places]
    rows.columns["city"] = [place.city for place in places]
    rows.facts["hosted"] = [place.hosted for place in places]


def place_of(envelope: Envelope, found: Memo[str, Place]) -> Place:
    """The place of an envelope's sender."""
    if envelope.trusted:
        return NOWHERE
    place = found[envelope.address] if envelope.address else NOWHERE
    if place.country or COUNTRY not in envelope.headers:
        return place
    return Place(country_code(envelope.headers[COUNTRY]))
