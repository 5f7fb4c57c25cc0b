"""UTM parameters and the name of the click id, from the item, else from the page's URL."""

from operator import attrgetter

from stream.enrich.rules.campaign_parameters import (
    CLICK_ID_RANK,
    NO_CAMPAIGN,
    UTM,
    Campaign,
    campaign_cache,
    query_of,
)
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import mapped
from stream.rows.row_batch import RowBatch


@enrichment_step(reads=("page_address",), writes=columns(*UTM, "click_id"), repeatable=True)
def put_campaign(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """UTM parameters, name of the click id; of the item, else of the page's URL."""
    if not rows.has_column("utm_source"):
        return
    campaigns = mapped(campaign_of, rows.facts.page_address)
    for name in (*UTM, "click_id"):
        sent = rows.distinct_field(name)
        if name == "click_id":  # its name is stored, never the id itself
            sent = sent.mapped(lambda known: known if known in CLICK_ID_RANK else None)
        of_url = mapped(attrgetter(name), campaigns)
        rows.columns[name] = (
            [own or other for own, other in zip(sent, of_url, strict=True)]
            if any(sent.values)
            else of_url
        )


def campaign_of(address: str) -> Campaign:
    """The campaign parameters of a page's address."""
    return campaign_cache[query_of(address)] if "?" in address or "#" in address else NO_CAMPAIGN
