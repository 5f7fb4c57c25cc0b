"""The lookups that workers use, of the registry as it is now: for commands and the keeper."""

from schemas.registry import Snapshot
from schemas.runtime.settings import Settings
from stream.enrich.rules.geo_database import GeoDatabase
from stream.enrich.rules.lookups import Lookups


def registry_lookups(settings: Settings, snapshot: Snapshot) -> Lookups:
    """Geo database, domains of websites, and tombstones."""
    domains = {website.id: website.domain for website in snapshot.websites.values()}
    return Lookups(GeoDatabase(settings.geo_files), domains.get, lambda: snapshot.tombstones)
