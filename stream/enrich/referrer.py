"""Where the visitor came from: the referring URL without its query, and who that is.

`Direct` is no referrer, or one on the website's own domain: the registry's, or else the domain of
the page itself.
"""

from msgspec import Struct

from stream.enrich.lookups import Lookups, Memo, registrable
from stream.enrich.page import text
from stream.enrich.referrers import Known, known
from stream.enrich.urls import cut
from stream.rows import Rows

DIRECT = "Direct"


class Referrer(Struct, frozen=True):
    """A referrer with its name and what kind of place it is."""

    url: str
    name: str
    kind: str | None
    """search, social, email, ai, … of a known place; None otherwise."""


NONE = Referrer(DIRECT, DIRECT, None)

Visit = tuple[str, str | None, str | None]
"""Referrer as sent, host of the page, domain of the website."""


def put_referrer(rows: Rows, lookups: Lookups) -> None:
    if not rows.wants("referrer"):
        return
    domains = rows.per_envelope(lambda envelope: lookups.domain_of(envelope.subject_id))
    sent = rows.given("referrer")
    referrers = rows.facts["referrer"] = [
        _referrers[url, page.host, domain] if (url := own or text(t.referrer)) else NONE
        for own, t, page, domain in zip(
            sent, rows.facts["told"], rows.facts["page"], domains, strict=True
        )
    ]
    rows.columns["referrer"] = [referrer.url for referrer in referrers]
    rows.columns["referrer_name"] = [referrer.name for referrer in referrers]


def read_referrer(visit: Visit) -> Referrer:
    """What a visit's referrer is."""
    sent, page_host, domain = visit
    url = cut(sent)
    if not url.host or is_own(url.host, page_host, domain or ""):
        return NONE
    place = known(url.host) or Known(registrable[url.host], None)
    return Referrer(f"{url.scheme or 'https'}://{url.host}{url.path}", place.name, place.kind)


def is_own(host: str, page_host: str | None, domain: str) -> bool:
    """Whether a referring host is the website's own domain or one of its sub-domains."""
    if host == "localhost":
        return True
    own = cut(domain if "://" in domain else f"//{domain}").host.removeprefix("www.")
    if own and (host == own or host.endswith("." + own)):
        return True
    return page_host is not None and registrable[host] == registrable[page_host]


_referrers: Memo[Visit, Referrer] = Memo(read_referrer)
