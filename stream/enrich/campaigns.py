"""What the query of a page's URL says about the campaign."""

from msgspec import Struct

from stream.enrich.urls import parameters

UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")

CLICK_IDS = (
    "gclid",
    "gbraid",
    "wbraid",
    "dclid",
    "msclkid",
    "fbclid",
    "ttclid",
    "li_fat_id",
    "twclid",
    "yclid",
)
LETTERS = 256


class Campaign(Struct, frozen=True):
    """UTM parameters by name, and the name of the first advertising click id."""

    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    click_id: str | None = None


NO_CAMPAIGN = Campaign()


def read_campaign(query: str) -> Campaign:
    """The campaign in a query."""
    found = parameters(query) if query else {}
    if not found:
        return NO_CAMPAIGN
    utm = {name: found[name][:LETTERS] for name in UTM if name in found}
    return Campaign(**utm, click_id=next((name for name in CLICK_IDS if name in found), None))
