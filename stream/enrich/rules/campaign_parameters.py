"""UTM parameters and click ids in a page's query string."""

import re

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.urls import printable, query_parameters

UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
SOURCES = ("source", "ref", "via")
"""Parameters that name a source where no UTM parameter does, in order."""
MAX_SOURCE_LENGTH = 64
MAX_VALUE_LENGTH = 256


class ClickId(Struct, frozen=True):
    """A parameter that a source adds to its outgoing links."""

    name: str
    by: str
    kind: str
    """Kind of source, as in `referrers.toml`."""
    paid: bool
    """Whether it is added to advertisements only."""


CLICK_IDS = (
    ClickId("gclid", "Google Ads", "search", True),
    ClickId("gbraid", "Google Ads, to apps", "search", True),
    ClickId("wbraid", "Google Ads, from apps", "search", True),
    ClickId("gad_source", "Google Ads, left when gclid was cut off", "search", True),
    ClickId("dclid", "Google Display & Video 360", "ads", True),
    ClickId("msclkid", "Microsoft Advertising", "search", True),
    ClickId("yclid", "Yandex Direct", "search", True),
    ClickId("ttclid", "TikTok Ads", "social", True),
    ClickId("twclid", "X Ads", "social", True),
    ClickId("li_fat_id", "LinkedIn Ads", "social", True),
    ClickId("rdt_cid", "Reddit Ads", "social", True),
    ClickId("sccid", "Snapchat Ads", "social", True),
    ClickId("qclid", "Quora Ads", "social", True),
    ClickId("ndclid", "Nextdoor Ads", "social", True),
    ClickId("tblci", "Taboola", "ads", True),
    ClickId("dicbo", "Outbrain", "ads", True),
    ClickId("irclickid", "impact.com", "affiliate", False),
    ClickId("cjevent", "CJ", "affiliate", False),
    ClickId("awc", "Awin", "affiliate", False),
    ClickId("ransiteid", "Rakuten Advertising", "affiliate", False),
    ClickId("mc_cid", "Mailchimp", "email", False),
    ClickId("_kx", "Klaviyo", "email", False),
    ClickId("_hsenc", "HubSpot", "email", False),
    ClickId("mkt_tok", "Marketo", "email", False),
    ClickId("srsltid", "Google's free product listings", "search", False),
    ClickId("fbclid", "Facebook, on every link", "social", False),
    ClickId("igshid", "Instagram, on shared links", "social", False),
    ClickId("igsh", "Instagram, on shared links", "social", False),
    ClickId("epik", "Pinterest, on every link", "social", False),
)
"""In order of preference where a URL has several: advertisements first."""


class Campaign(Struct, frozen=True):
    """UTM parameters by name, and the name of the click id."""

    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    click_id: str | None = None


NO_CAMPAIGN = Campaign()


_WORD = r"[^\W\d_]+"
_SOURCE = re.compile(rf"(?:https?://)?{_WORD}(?:[ ._-](?:{_WORD}|\d+))*/?")
"""Words and numbers apart: `producthunt.com`, `news-2026`, but not `a8f3b2`."""

CLICK_ID_RANK = {click_id.name: rank for rank, click_id in enumerate(CLICK_IDS)}
_CLICK_ID_ONLY = {click_id.name: Campaign(click_id=click_id.name) for click_id in CLICK_IDS}


def query_of(address: str) -> str:
    """The query of a URL, followed by the query of its fragment."""
    if "#" not in address:
        return address.partition("?")[2]
    head, _, fragment = address.partition("#")
    return head.partition("?")[2] + "&" + (fragment.partition("?")[2] or fragment)


def parse_campaign(query: str) -> Campaign:
    """The campaign parameters of a query."""
    parameters = query_parameters(query) if "=" in query else {}
    ids = [name for name in parameters if name in CLICK_ID_RANK]
    click_id = min(ids, key=CLICK_ID_RANK.__getitem__) if ids else None
    utm = {
        name: printable(parameters[name].strip())[:MAX_VALUE_LENGTH] or None
        for name in UTM
        if name in parameters
    }
    if not utm:
        source = next((name for name in map(parameters.get, SOURCES) if is_source(name)), None)
        utm = {"utm_source": printable(source.strip())} if source else {}
    if utm:
        return Campaign(**utm, click_id=click_id)
    return _CLICK_ID_ONLY[click_id] if click_id else NO_CAMPAIGN


def is_source(value: str | None) -> bool:
    """Whether a value names a website or newsletter; a number or a code of a person does not."""
    if value is None or len(value) > MAX_SOURCE_LENGTH:
        return False
    return _SOURCE.fullmatch(value.strip()) is not None


campaign_cache: GenerationalCache[str, Campaign] = GenerationalCache(parse_campaign)
