"""Lookups (geo database, website domains, tombstones) for commands that enrich."""

from typing import TYPE_CHECKING

from schemas.registry import RegistryStore, Snapshot
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.enrich.rules.lookups import Lookups


def enrichment_lookups(settings: Settings, store: RegistryStore) -> "Lookups":
    """The same lookups that workers use."""
    from stream.enrich.rules.geo_database import GeoDatabase
    from stream.enrich.rules.lookups import Lookups  # with all parsers

    snapshot = Snapshot.read(store)
    domains = {website.id: website.domain for website in snapshot.websites.values()}
    return Lookups(GeoDatabase(settings.geo_files), domains.get, lambda: snapshot.tombstones)
