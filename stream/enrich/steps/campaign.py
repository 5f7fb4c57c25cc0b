"""UTM parameters and the name of the click id, from the item, else from the page's URL."""

from operator import attrgetter

from stream.enrich.rules.campaign_parameters import (
    CLICK_ID_RANK,
    NO_CAMPAIGN,
    UTM,
    campaign_cache,
    query_of,
)
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch


@enrichment_step(reads=("page_address",), writes=columns(*UTM, "click_id"), repeatable=True)
def put_campaign(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """UTM parameters, name of the click id; of the item, else of the page's URL."""
    if not rows.has_column("utm_source"):
        return
    campaigns = [
        campaign_cache[query_of(address)] if "?" in address or "#" in address else NO_CAMPAIGN
        for address in rows.facts.page_address
    ]
    for name in UTM:
        sent_values, url_values = rows.item_field(name), map(attrgetter(name), campaigns)
        rows.columns[name] = (
            [sent or of_url for sent, of_url in zip(sent_values, url_values, strict=True)]
            if any(sent_values)
            else list(url_values)
        )
    rows.columns["click_id"] = [
        # The name is stored, never the id itself.
        sent if sent in CLICK_ID_RANK else campaign.click_id
        for sent, campaign in zip(rows.item_field("click_id"), campaigns, strict=True)
    ]
