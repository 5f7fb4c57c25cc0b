"""Country, region and city: of the cut address, else of the proxy's header, else of the time zone.

A time zone names a country and no more. A server's address is not its visitor's, so what a server
sends is placed by time zone only.
"""

from operator import attrgetter

from schemas.envelope import COUNTRY, Envelope
from stream.enrich.rules.geo_records import NOWHERE, Place, country_code
from stream.enrich.rules.lookups import Lookups, Memo
from stream.enrich.rules.time_zones import zones
from stream.rows.row_batch import Rows


def put_place(rows: Rows, lookups: Lookups) -> None:
    lookups.places.refresh()
    found = lookups.places.found
    places = [place_of(envelope, found) for envelope in rows.runs()]
    said = rows.columns.get("timezone") or rows.given("timezone")
    by_zone = zones().get
    countries = rows.spread(map(attrgetter("country"), places))
    rows.columns["country"] = [
        country or (by_zone(zone) if zone else None)
        for country, zone in zip(countries, said, strict=True)
    ]
    rows.columns["region"] = rows.spread(map(attrgetter("region"), places))
    rows.columns["city"] = rows.spread(map(attrgetter("city"), places))
    rows.facts["hosted"] = rows.spread(map(attrgetter("hosted"), places))


def place_of(envelope: Envelope, found: Memo[str, Place]) -> Place:
    """The place of an envelope's sender."""
    if envelope.trusted:
        return NOWHERE
    place = found[envelope.address] if envelope.address else NOWHERE
    if place.country or COUNTRY not in envelope.headers:
        return place
    return Place(country_code(envelope.headers[COUNTRY]))
