"""Country, region and city, from the truncated IP address, a proxy's header or the time zone.

A time zone gives the country only. A server's address is not its visitor's, so items sent with an
API key are located by time zone only, unless they name the visitor's address. A website may have
no locations at all.
"""

from operator import attrgetter

from schemas.envelope import COUNTRY_HEADER, Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.geo_database import NO_LOCATION, Location, country_code
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.time_zones import countries_by_zone
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import combined
from stream.rows.row_batch import RowBatch


@enrichment_step(
    reads=columns("timezone"), writes=("is_data_centre", *columns("country", "region", "city"))
)
def put_location(rows: RowBatch, lookups: Lookups) -> None:
    """Country, region, city: geo database, trusted proxy's header, else the time zone's country."""
    lookups.geo_database.refresh()
    cache = lookups.geo_database.locations
    locations = [location_of(envelope, cache) for envelope in rows.envelope_runs()]
    countries = rows.repeat_runs(map(attrgetter("country"), locations))
    if not all(location.country for location in locations):
        time_zones = rows.columns.get("timezone") or rows.item_field("timezone")
        by_zone = countries_by_zone().get
        countries = combined(countries, time_zones).mapped(
            lambda found: found[0] or (by_zone(found[1]) if found[1] else None)
        )
    if not all(envelope.locate for envelope in rows.envelope_runs()):
        is_located = rows.per_envelope(lambda envelope: envelope.locate)
        countries = combined(countries, is_located).mapped(
            lambda found: found[0] if found[1] else None
        )
    rows.columns["country"] = countries
    rows.columns["region"] = rows.repeat_runs(map(attrgetter("region"), locations))
    rows.columns["city"] = rows.repeat_runs(map(attrgetter("city"), locations))
    rows.facts.is_data_centre = rows.repeat_runs(map(attrgetter("is_data_centre"), locations))


def location_of(envelope: Envelope, cache: GenerationalCache[str, Location]) -> Location:
    """The location of an envelope's sender."""
    if not envelope.has_visitor:
        return NO_LOCATION
    location = cache[envelope.client_network] if envelope.client_network else NO_LOCATION
    if location.country or COUNTRY_HEADER not in envelope.headers:
        return location
    return Location(country_code(envelope.headers[COUNTRY_HEADER]))
