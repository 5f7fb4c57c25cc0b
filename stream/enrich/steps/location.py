"""Country, region and city: of the cut address, else of the proxy's header, else of the time zone.

A time zone names a country and no more. A server's address is not its visitor's, so what a server
sends is placed by time zone only.
"""

from operator import attrgetter

from schemas.envelope import COUNTRY_HEADER, Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.geo_records import NO_LOCATION, Location, country_code
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.time_zones import countries_by_zone
from stream.rows.row_batch import RowBatch


def put_location(rows: RowBatch, lookups: Lookups) -> None:
    lookups.geo_database.refresh()
    found = lookups.geo_database.locations
    places = [location_of(envelope, found) for envelope in rows.envelope_runs()]
    said = rows.columns.get("timezone") or rows.item_field("timezone")
    by_zone = countries_by_zone().get
    countries = rows.repeat_runs(map(attrgetter("country"), places))
    rows.columns["country"] = [
        country or (by_zone(zone) if zone else None)
        for country, zone in zip(countries, said, strict=True)
    ]
    rows.columns["region"] = rows.repeat_runs(map(attrgetter("region"), places))
    rows.columns["city"] = rows.repeat_runs(map(attrgetter("city"), places))
    rows.facts.is_data_centre = rows.repeat_runs(map(attrgetter("is_data_centre"), places))


def location_of(envelope: Envelope, found: GenerationalCache[str, Location]) -> Location:
    """The place of an envelope's sender."""
    if envelope.trusted:
        return NO_LOCATION
    place = found[envelope.address] if envelope.address else NO_LOCATION
    if place.country or COUNTRY_HEADER not in envelope.headers:
        return place
    return Location(country_code(envelope.headers[COUNTRY_HEADER]))
