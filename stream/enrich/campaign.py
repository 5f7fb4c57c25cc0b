"""The campaign: UTM parameters and the click id's name, the item's own before the page URL's."""

from operator import attrgetter

from stream.enrich.campaigns import CLICK_IDS, UTM
from stream.enrich.lookups import Lookups
from stream.rows import Rows

NAMES = frozenset(known.name for known in CLICK_IDS)
"""What a sender may call a click id; the id itself is never kept."""


def put_campaign(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("utm_source"):
        return
    campaigns = [page.campaign for page in rows.facts["page"]]
    for name in UTM:
        of_page = map(attrgetter(name), campaigns)
        rows.columns[name] = [
            own or other for own, other in zip(rows.given(name), of_page, strict=True)
        ]
    rows.columns["click_id"] = [
        own if own in NAMES else campaign.click_id
        for own, campaign in zip(rows.given("click_id"), campaigns, strict=True)
    ]
