"""Where the visitor came from: the referring URL without its query, and who that is.

`Direct` is no referrer, or one on the website's own domain: the registry's, or else the domain of
the page itself.
"""

from msgspec import Struct

from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.lookups import Lookups, Memo, is_domain, registrable
from stream.enrich.rules.referrer_list import DIRECT, DIRECT_KIND, OTHER_KIND, Known, known
from stream.enrich.rules.urls import Url, cut, plain
from stream.enrich.steps.page import text
from stream.rows.row_batch import Rows

LETTERS = 2048
WEB = frozenset(("", "http", "https"))
APPS = frozenset(("android-app", "ios-app"))
"""Schemes under which an app names itself instead of a page."""


class Referrer(Struct, frozen=True):
    """A referrer with its name and what kind of place it is."""

    url: str
    name: str
    kind: str
    """direct, other, or search, social, email, ai, … of a known place."""
    host: str = ""


NOBODY = Referrer(DIRECT, DIRECT, DIRECT_KIND)

Meeting = tuple[str, str | None, str | None]
"""Host of the referrer, host of the page, domain of the website."""


def put_referrer(rows: Rows, lookups: Lookups) -> None:
    if not rows.wants("referrer"):
        return
    domains = rows.per_envelope(lambda envelope: lookups.domain_of(envelope.subject_id))
    sent = [
        own or text(t.referrer)
        for own, t in zip(rows.given("referrer"), rows.facts["told"], strict=True)
    ]
    referrers = [
        found
        if url
        and (found := _referrers[url.partition("?")[0]]).host != page.host
        and found.host
        and not _own[found.host, page.host, domain]
        else NOBODY
        for url, page, domain in zip(sent, rows.facts["page"], domains, strict=True)
    ]
    rows.columns["referrer"] = [referrer.url for referrer in referrers]
    rows.columns["referrer_name"] = [referrer.name for referrer in referrers]
    rows.columns["referrer_type"] = [referrer.kind for referrer in referrers]


def read_referrer(sent: str) -> Referrer:
    """What a referrer is."""
    url = read_url(sent[:LETTERS])
    if not url.host:
        return NOBODY
    if url.scheme in APPS:
        place = known[url.host] or Known(url.host, OTHER_KIND)
        return Referrer(f"{url.scheme}://{url.host}", place.name, place.kind, url.host)
    place = known[url.host] or Known(registrable[url.host], OTHER_KIND)
    whole = f"{url.scheme or 'https'}://{url.host}{plain(url.path) or '/'}"
    return Referrer(whole, place.name, place.kind, url.host)


def read_url(sent: str) -> Url:
    """A page's or an app's address, also of senders who left the scheme out; else one of nobody."""
    url = cut(sent)
    if not url.scheme and not url.host and is_domain(host_of(url.path.partition("/")[0])):
        url = cut(f"//{sent.strip()}")
    return url if url.scheme in WEB or url.scheme in APPS else Url("", "", "")


def is_own(meeting: Meeting) -> bool:
    """Whether a referring host is this machine, the website's own domain or a sub-domain of it.

    Hosts of one registered domain are one website, but for places that give names of theirs to
    many: `substack.com` refers to `anna.substack.com`, and `www.google.com` to `cloud.google.com`.
    """
    host, page_host, domain = meeting
    if host in ("localhost", "[::1]") or host.startswith("127."):
        return True
    registered = cut("//" + (domain or "").rpartition("://")[2]).host
    owned = [name.removeprefix("www.") for name in (registered, page_host) if name]
    if any(host == name or host.endswith("." + name) for name in owned):
        return True
    return not known[host] and any(registrable[host] == registrable[name] for name in owned)


_referrers: Memo[str, Referrer] = Memo(read_referrer)
_own: Memo[Meeting, bool] = Memo(is_own)
