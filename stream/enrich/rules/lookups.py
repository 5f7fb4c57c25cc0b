"""What the steps look things up in: domains, places, and whose website a subject is."""

from collections.abc import Callable

from publicsuffixlist import PublicSuffixList

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.geo_database import GeoDatabase


def parse_domain(host: str) -> str:
    """The domain that a host belongs to (`shop.a.co.uk` → `a.co.uk`); an address is its own."""
    if host.startswith("[") or host.rpartition(".")[2].isdecimal():
        return host
    return _suffixes.privatesuffix(host) or host


def is_domain(host: str) -> bool:
    """Whether a host ends as registered domains do: `a.co.uk`, and not `index.html`."""
    return "." in host and _suffixes.publicsuffix(host, accept_unknown=False) is not None


_suffixes = PublicSuffixList()
registrable_domains: GenerationalCache[str, str] = GenerationalCache(parse_domain)


class Lookups:
    """Handed down the line."""

    def __init__(
        self,
        places: GeoDatabase | None = None,
        domain_of: Callable[[str], str | None] = lambda website: None,  # noqa: ARG005
    ) -> None:
        self.geo_database = places or GeoDatabase()
        self.domain_of = domain_of
        """The website's domain, as the registry has it."""
