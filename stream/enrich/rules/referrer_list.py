"""Known places: `referrers.toml` as two tables, by host and by what campaigns call them."""

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.lookups import registrable_domains

DIRECT = "Direct"
"""URL and name of a referrer that is nobody, or the website itself."""
DIRECT_KIND = "direct"
OTHER_KIND = "other"
"""Kind of a place that the file does not know."""


class ReferrerList(Struct, frozen=True):
    """The file as it is."""

    kinds: dict[str, dict[str, tuple[str, ...]]]
    """Hosts by name by kind."""
    sources: dict[str, str]
    """Names by what campaigns say instead."""


class KnownSource(Struct, frozen=True):
    """Who a host is."""

    name: str
    kind: str


REFERRERS = msgspec.toml.decode(
    Path(__file__).with_name("referrers.toml").read_bytes(), type=ReferrerList
)

_HOSTS = {
    host: KnownSource(name, kind)
    for kind, places in REFERRERS.kinds.items()
    for name, hosts in places.items()
    for host in hosts
}
_NAMES = {name: kind for kind, places in REFERRERS.kinds.items() for name in places}
_SOURCES = {name.lower().replace(" ", ""): kind for name, kind in _NAMES.items()} | {
    source: _NAMES[name] for source, name in REFERRERS.sources.items()
}
_COUNTRY_SUFFIX = re.compile(r"com|cat|[a-z]{2}|(?:com?|org|net)\.[a-z]{2}")
_ADVERTS = re.compile(r"[\s_-]*ads?$")


def find_source(host: str) -> KnownSource | None:
    """The entry of a host or of the nearest domain above it.

    `google.*` is google under any country's ending: google.de as well as google.co.uk, but not
    google.github.io, which anybody may have.
    """
    return _nearest(host) or _nearest(_any_country(host))


def _nearest(host: str) -> KnownSource | None:
    while host and host not in _HOSTS:
        host = host.partition(".")[2]
    return _HOSTS.get(host)


def _any_country(host: str) -> str:
    suffix = registrable_domains[host].partition(".")[2]
    return host.removesuffix(suffix) + "*" if _COUNTRY_SUFFIX.fullmatch(suffix) else ""


def find_source_kind(source: str) -> str | None:
    """What kind of place a campaign's source is: a name of the file, an alias, or a host."""
    said = source.strip().lower()
    named = _ADVERTS.sub("", said) or said
    found = _SOURCES.get(said) or _SOURCES.get(named.replace(" ", ""))
    if found or "." not in said:
        return found
    place = source_by_host[host_of(said)]
    return place.kind if place else None


source_by_host: GenerationalCache[str, KnownSource | None] = GenerationalCache(find_source)
source_kinds: GenerationalCache[str, str | None] = GenerationalCache(find_source_kind)
