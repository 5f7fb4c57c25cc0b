"""The referrer without its query, its name and its type.

`Direct` means no referrer, or one on the website's own domain: the registry's, else the domain of
the page itself.
"""

from operator import attrgetter

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups, is_domain, registrable_domains
from stream.enrich.rules.referrer_list import (
    DIRECT,
    DIRECT_KIND,
    OTHER_KIND,
    KnownSource,
    source_by_host,
    source_of_host,
)
from stream.enrich.rules.urls import Url, host_of, printable, split_url
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.enrich.steps.page import own_or_property
from stream.rows.repeated_column import combined, mapped
from stream.rows.row_batch import RowBatch

MAX_REFERRER_LENGTH = 2048
WEB_SCHEMES = frozenset(("", "http", "https"))
APP_SCHEMES = frozenset(("android-app", "ios-app"))
"""Schemes under which an app names itself instead of a page."""


class Referrer(Struct, frozen=True):
    """A referrer with its name and the kind of its source."""

    url: str
    name: str
    kind: str
    """direct, other, or search, social, email, ai, … of a known source."""
    host: str = ""


NO_REFERRER = Referrer(DIRECT, DIRECT, DIRECT_KIND)

ReferrerPair = tuple[str, str | None, str | None]
"""Host of the referrer, host of the page, domain of the website."""


@enrichment_step(
    reads=("page_properties", "page"), writes=columns("referrer_type"), repeatable=True
)
def put_referrer(rows: RowBatch, lookups: Lookups) -> None:
    """Referring URL without query, its name and type; `Direct` without one or for the website's
    own.
    """
    if not rows.has_column("referrer"):
        return
    subjects = {envelope.subject_id for envelope in rows.envelope_runs()}
    domain_of = {subject: lookups.domain_of(subject) for subject in subjects}
    domains = rows.per_envelope(lambda envelope: domain_of[envelope.subject_id])
    sent = own_or_property(rows, "referrer", rows.facts.page_properties).mapped(referrer_of)
    hosts = mapped(attrgetter("host"), rows.facts.page)
    referrers = combined(sent, hosts, domains).mapped(external_referrer)
    rows.columns["referrer"] = referrers.mapped(attrgetter("url"))
    rows.columns["referrer_name"] = referrers.mapped(attrgetter("name"))
    rows.columns["referrer_type"] = referrers.mapped(attrgetter("kind"))


def referrer_of(sent: str | None) -> Referrer:
    """The referrer that an item names."""
    return _referrers[sent.partition("?")[0]] if sent else NO_REFERRER


def external_referrer(found: tuple[Referrer, str | None, str | None]) -> Referrer:
    """A referrer, unless it is of the page's own website; by the page's host and its domain."""
    referrer, page_host, domain = found
    if not referrer.host or referrer.host == page_host:
        return NO_REFERRER
    return NO_REFERRER if _internal[referrer.host, page_host, domain] else referrer


def parse_referrer(sent: str) -> Referrer:
    """Name and kind of a referring URL."""
    url = parse_referrer_url(sent[:MAX_REFERRER_LENGTH])
    if not url.host:
        return NO_REFERRER
    if url.scheme in APP_SCHEMES:
        source = source_by_host[url.host] or KnownSource(url.host, OTHER_KIND)
        return Referrer(f"{url.scheme}://{url.host}", source.name, source.kind, url.host)
    source = source_of_host(url.host)
    clean_url = f"{url.scheme or 'https'}://{url.host}{printable(url.path) or '/'}"
    return Referrer(clean_url, source.name, source.kind, url.host)


def parse_referrer_url(sent: str) -> Url:
    """The URL of a page or an app, also without a scheme; an empty URL for anything else."""
    url = split_url(sent)
    if not url.scheme and not url.host and is_domain(host_of(url.path.partition("/")[0])):
        url = split_url(f"//{sent.strip()}")
    return url if url.scheme in WEB_SCHEMES or url.scheme in APP_SCHEMES else Url("", "", "")


def is_internal(pair: ReferrerPair) -> bool:
    """Whether a referring host is localhost, the website's own domain or a sub-domain of it.

    Hosts of one registrable domain are one website, except for known sources that rent out names:
    `substack.com` refers to `anna.substack.com`, and `www.google.com` to `cloud.google.com`.
    """
    host, page_host, domain = pair
    if host in ("localhost", "[::1]") or host.startswith("127."):
        return True
    registered = split_url("//" + (domain or "").rpartition("://")[2]).host
    owned = [name.removeprefix("www.") for name in (registered, page_host) if name]
    if any(host == name or host.endswith("." + name) for name in owned):
        return True
    return not source_by_host[host] and any(
        registrable_domains[host] == registrable_domains[name] for name in owned
    )


_referrers: GenerationalCache[str, Referrer] = GenerationalCache(parse_referrer)
_internal: GenerationalCache[ReferrerPair, bool] = GenerationalCache(is_internal)
