"""What a batch is looked up in: registrable domain, location, the website's domain, tombstones,
saved records."""

from collections.abc import Callable

from publicsuffixlist import PublicSuffixList

from schemas.registry.saved_record_index import SavedRecordIndex
from schemas.registry.tombstones import NO_TOMBSTONES, Tombstones
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.geo_database import GeoDatabase


def parse_domain(host: str) -> str:
    """The registrable domain of a host (`shop.a.co.uk` → `a.co.uk`); an IP address is kept."""
    if host.startswith("[") or host.rpartition(".")[2].isdecimal():
        return host
    return _suffixes.privatesuffix(host) or host


def is_domain(host: str) -> bool:
    """Whether a host ends in a public suffix: `a.co.uk`, but not `index.html`."""
    return "." in host and _suffixes.publicsuffix(host, accept_unknown=False) is not None


_suffixes = PublicSuffixList()
registrable_domains: GenerationalCache[str, str] = GenerationalCache(parse_domain)


class Lookups:
    """Lookups that every enrichment step is given."""

    def __init__(
        self,
        geo_database: GeoDatabase | None = None,
        domain_of: Callable[[str], str | None] = lambda website: None,  # noqa: ARG005
        tombstones: Callable[[], Tombstones] = lambda: NO_TOMBSTONES,
        saved: Callable[[], SavedRecordIndex] = SavedRecordIndex,
    ) -> None:
        self.geo_database = geo_database or GeoDatabase()
        self.domain_of = domain_of
        """The website's domain in the registry."""
        self.tombstones = tombstones
        """Those of the registry now: rows that match are dropped."""
        self.saved = saved
        """Saved records of the registry now: shields are among them."""
