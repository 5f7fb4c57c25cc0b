"""Lookups (geo database, website domains) for commands that enrich."""

from typing import TYPE_CHECKING

from schemas.registry import RegistryStore, Website
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.enrich.rules.lookups import Lookups


def enrichment_lookups(settings: Settings, store: RegistryStore) -> "Lookups":
    """The same lookups that workers use."""
    from stream.enrich.rules.geo_database import GeoDatabase
    from stream.enrich.rules.lookups import Lookups  # with all parsers

    domains = {website.id: website.domain for website in store.list(Website)}
    return Lookups(GeoDatabase(settings.geo_files), domains.get)
