"""Known referrers by host and by source name, from `referrers.toml`."""

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import registrable_domains
from stream.enrich.rules.urls import host_of

DIRECT = "Direct"
"""URL and name of an absent referrer, or of the website itself."""
DIRECT_KIND = "direct"
OTHER_KIND = "other"
"""Kind of a source that the file does not list."""


class ReferrerList(Struct, frozen=True):
    """The content of the file. Its field names are part of the rules version."""

    kinds: dict[str, dict[str, tuple[str, ...]]]
    """Hosts by source name by kind."""
    sources: dict[str, str]
    """Source names by the alias that campaigns use."""


class KnownSource(Struct, frozen=True):
    """Name and kind of a known source."""

    name: str
    kind: str


REFERRERS = msgspec.toml.decode(
    Path(__file__).with_name("referrers.toml").read_bytes(), type=ReferrerList
)

_HOSTS = {
    host: KnownSource(name, kind)
    for kind, sources in REFERRERS.kinds.items()
    for name, hosts in sources.items()
    for host in hosts
}
_NAMES = {name: kind for kind, sources in REFERRERS.kinds.items() for name in sources}
_SOURCES = {name.lower().replace(" ", ""): kind for name, kind in _NAMES.items()} | {
    alias: _NAMES[name] for alias, name in REFERRERS.sources.items()
}
PORTAL = "="
"""Before a host in the file: it and what `_FRONT` takes away from others, and no sub-domain."""
_FRONT = re.compile(r"^(?:www\d?|m|[a-z]{2})\.")
SERVICE_NAMES = (
    (
        "email",
        re.compile(r"[a-z]{0,3}mail\w{0,8}\.(?!\w+$)|messagerie\w*\.|roundcube\.|zimbra\.|deref-"),
    ),
    ("ads", re.compile(r"(?:ads?\d*|adserver\d*|adclick|banners?)\.(?!\w+$)")),
    ("search", re.compile(r"(?:\w?search|suche|ricerca\w*|busca|hledej|szukaj)\.(?!\w+$)")),
)
"""First labels of hosts that the file does not list, as in `webmail.provider.example`."""
_COUNTRY_SUFFIX = re.compile(r"com|cat|[a-z]{2}|(?:com?|org|net)\.[a-z]{2}")
_ADVERTS = re.compile(r"[\s_-]*ads?$")


def find_source(host: str) -> KnownSource | None:
    """The entry of a host or of the nearest domain above it.

    `google.*` matches google under any country suffix: google.de and google.co.uk, but not
    google.github.io, which anybody can register.
    """
    return _nearest(host) or _nearest(_any_country(host))


def _nearest(host: str) -> KnownSource | None:
    """A portal's entry is of its front page alone: `shopping.yahoo.co.jp` is not searching."""
    front_page = _HOSTS.get(f"{PORTAL}{host}")
    above = host
    while above and above not in _HOSTS:
        above = above.partition(".")[2]
    return front_page or _HOSTS.get(above) or _HOSTS.get(f"{PORTAL}{_FRONT.sub('', host)}")


def _any_country(host: str) -> str:
    suffix = registrable_domains[host].partition(".")[2]
    return host.removesuffix(suffix) + "*" if _COUNTRY_SUFFIX.fullmatch(suffix) else ""


def source_of_host(host: str) -> KnownSource:
    """The known source, else the registrable domain with the kind that the host's name tells."""
    known = source_by_host[host]
    if known:
        return known
    domain = registrable_domains[host]
    service = "" if host == domain else host
    kinds = (kind for kind, names in SERVICE_NAMES if names.match(service) or names.match(domain))
    return KnownSource(domain, next(kinds, OTHER_KIND))


def find_source_kind(source: str) -> str | None:
    """The kind of a campaign's source, which is a name of the file, an alias or a host."""
    lower = source.strip().lower()
    name = _ADVERTS.sub("", lower) or lower
    kind = _SOURCES.get(lower) or _SOURCES.get(name.replace(" ", ""))
    if kind or "." not in lower:
        return kind
    known = source_by_host[host_of(lower)]
    return known.kind if known else None


source_by_host: GenerationalCache[str, KnownSource | None] = GenerationalCache(find_source)
source_kinds: GenerationalCache[str, str | None] = GenerationalCache(find_source_kind)
