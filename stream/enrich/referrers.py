"""Known referrers: `referrers.toml` as two tables, by host and by what campaigns call them."""

from pathlib import Path

import msgspec
from msgspec import Struct

from stream.enrich.lookups import registrable


class Place(Struct, frozen=True):
    """One entry of the file."""

    hosts: list[str]
    sources: list[str]


class Known(Struct, frozen=True):
    """Who a host is."""

    name: str
    kind: str | None
    """search, social, email, ai, …; None of a host that is not known."""


def known(host: str) -> Known | None:
    """The entry of a host or of the nearest domain above it.

    `google.*` is any domain that registrars call google: google.de as well as google.co.uk.
    """
    name = host
    while name:
        if name in _HOSTS:
            return _HOSTS[name]
        name = name.partition(".")[2]
    return _HOSTS.get(registrable[host].partition(".")[0] + ".*")


def source_kind(source: str) -> str | None:
    """What kind of place a campaign's source is."""
    return _SOURCES.get(source)


_FILE = msgspec.toml.decode(
    Path(__file__).with_name("referrers.toml").read_bytes(), type=dict[str, dict[str, Place]]
)
_HOSTS = {
    host: Known(name, kind)
    for kind, places in _FILE.items()
    for name, place in places.items()
    for host in place.hosts
}
_SOURCES = {
    source: kind
    for kind, places in _FILE.items()
    for place in places.values()
    for source in place.sources
}
