"""What enrichment asks, for commands that enrich: places, and the websites' domains."""

from typing import TYPE_CHECKING

from schemas.registry import Store, Website
from schemas.settings import Settings

if TYPE_CHECKING:
    from stream.enrich.lookups import Lookups


def lookups_of(settings: Settings, store: Store) -> "Lookups":
    """As workers have them."""
    from stream.enrich.lookups import Lookups  # with all parsers
    from stream.enrich.places import Places

    domains = {website.id: website.domain for website in store.list(Website)}
    return Lookups(Places(settings.place_files), domains.get)
