"""The referrer without its query, its name and its type.

`Direct` means no referrer, or one on the website's own domain: the registry's, else the domain of
the page itself.
"""

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.lookups import Lookups, is_domain, registrable_domains
from stream.enrich.rules.referrer_list import (
    DIRECT,
    DIRECT_KIND,
    OTHER_KIND,
    KnownSource,
    source_by_host,
)
from stream.enrich.rules.urls import Url, printable, split_url
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.enrich.steps.page import text
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
    sent = [
        own or text(properties.referrer)
        for own, properties in zip(
            rows.item_field("referrer"), rows.facts.page_properties, strict=True
        )
    ]
    referrers = [
        referrer
        if url
        and (referrer := _referrers[url.partition("?")[0]]).host != page.host
        and referrer.host
        and not _internal[referrer.host, page.host, domain]
        else NO_REFERRER
        for url, page, domain in zip(sent, rows.facts.page, domains, strict=True)
    ]
    rows.columns["referrer"] = [referrer.url for referrer in referrers]
    rows.columns["referrer_name"] = [referrer.name for referrer in referrers]
    rows.columns["referrer_type"] = [referrer.kind for referrer in referrers]


def parse_referrer(sent: str) -> Referrer:
    """Name and kind of a referring URL."""
    url = parse_referrer_url(sent[:MAX_REFERRER_LENGTH])
    if not url.host:
        return NO_REFERRER
    if url.scheme in APP_SCHEMES:
        source = source_by_host[url.host] or KnownSource(url.host, OTHER_KIND)
        return Referrer(f"{url.scheme}://{url.host}", source.name, source.kind, url.host)
    source = source_by_host[url.host] or KnownSource(registrable_domains[url.host], OTHER_KIND)
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
