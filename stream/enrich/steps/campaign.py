"""The campaign: UTM parameters and the click id's name, the item's own before the page URL's."""

from operator import attrgetter

from stream.enrich.rules.campaign_parameters import CLICK_ID_RANK, UTM, campaign_cache, query_of
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch


def put_campaign(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.has_column("utm_source"):
        return
    found = [campaign_cache[query_of(address)] for address in rows.facts.page_address]
    for name in UTM:
        own, of_page = rows.item_field(name), map(attrgetter(name), found)
        rows.columns[name] = (
            [given or other for given, other in zip(own, of_page, strict=True)]
            if any(own)
            else list(of_page)
        )
    rows.columns["click_id"] = [
        # The name is kept, and never the id itself.
        own if own in CLICK_ID_RANK else campaign.click_id
        for own, campaign in zip(rows.item_field("click_id"), found, strict=True)
    ]
