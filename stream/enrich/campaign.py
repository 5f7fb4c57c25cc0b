"""The campaign: UTM parameters and advertising click ids, the item's own before the page URL's."""

from operator import attrgetter

from stream.enrich.campaigns import UTM
from stream.enrich.lookups import Lookups
from stream.rows import Rows


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
        own or campaign.click_id
        for own, campaign in zip(rows.given("click_id"), campaigns, strict=True)
    ]
