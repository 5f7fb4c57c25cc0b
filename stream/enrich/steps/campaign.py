"""The campaign: UTM parameters and the click id's name, the item's own before the page URL's."""

from operator import attrgetter

from stream.enrich.rules.campaign_parameters import RANK, UTM, campaigns, query_of
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows


def put_campaign(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("utm_source"):
        return
    found = [campaigns[query_of(address)] for address in rows.facts["address"]]
    for name in UTM:
        own, of_page = rows.given(name), map(attrgetter(name), found)
        rows.columns[name] = (
            [given or other for given, other in zip(own, of_page, strict=True)]
            if any(own)
            else list(of_page)
        )
    rows.columns["click_id"] = [
        # The name is kept, and never the id itself.
        own if own in RANK else campaign.click_id
        for own, campaign in zip(rows.given("click_id"), found, strict=True)
    ]
