"""What enrichment asks, for commands that enrich: places, and the websites' domains."""

from typing import TYPE_CHECKING

from schemas.registry import RegistryStore, Website
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from stream.enrich.rules.lookups import Lookups


def enrichment_lookups(settings: Settings, store: RegistryStore) -> "Lookups":
    """As workers have them."""
    from stream.enrich.rules.geo_database import GeoDatabase
    from stream.enrich.rules.lookups import Lookups  # with all parsers

    domains = {website.id: website.domain for website in store.list(Website)}
    return Lookups(GeoDatabase(settings.geo_files), domains.get)
