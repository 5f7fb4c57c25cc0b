"""What the query of a page's URL says about the campaign."""

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.urls import printable, query_parameters

UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
MAX_VALUE_LENGTH = 256
MAX_QUERY_LENGTH = 2048


class ClickId(Struct, frozen=True):
    """A parameter that a place adds to links that leave it."""

    name: str
    by: str
    kind: str
    """Kind of place, as in `referrers.toml`."""
    paid: bool
    """Whether it is on advertisements only."""


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
"""In the order of preference, should a URL carry several: advertisements first."""


class Campaign(Struct, frozen=True):
    """UTM parameters by name, and the name of the click id."""

    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    click_id: str | None = None


NO_CAMPAIGN = Campaign()


CLICK_ID_RANK = {known.name: rank for rank, known in enumerate(CLICK_IDS)}
_CLICK_ID_ONLY = {known.name: Campaign(click_id=known.name) for known in CLICK_IDS}


def query_of(address: str) -> str:
    """The query of an address, and that of its fragment after it."""
    if "#" not in address:
        return address.partition("?")[2]
    head, _, fragment = address.partition("#")
    return head.partition("?")[2] + "&" + (fragment.partition("?")[2] or fragment)


def parse_campaign(query: str) -> Campaign:
    """The campaign in a query."""
    found = query_parameters(query[:MAX_QUERY_LENGTH]) if "=" in query else {}
    ids = [name for name in found if name in CLICK_ID_RANK]
    click_id = min(ids, key=CLICK_ID_RANK.__getitem__) if ids else None
    utm = {
        name: printable(found[name].strip())[:MAX_VALUE_LENGTH] or None
        for name in UTM
        if name in found
    }
    if utm:
        return Campaign(**utm, click_id=click_id)
    return _CLICK_ID_ONLY[click_id] if click_id else NO_CAMPAIGN


campaign_cache: GenerationalCache[str, Campaign] = GenerationalCache(parse_campaign)
