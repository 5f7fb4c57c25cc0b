"""The subject of a row is that of its envelope."""

from schemas.kinds import (
    CLICK,
)
from tests.stream.enrich.enriched_rows import facts, row


def test_a_click_belongs_to_its_link() -> None:
    item = {"slug": "abc", "referrer": "https://news.ycombinator.com/item?id=1", "anonymousId": "v"}

    found = row(item, CLICK, subject_id="l1")

    assert [
        found[c] for c in ("link_id", "organization_id", "slug", "referrer_name", "channel")
    ] == [
        "l1",
        "o1",
        "abc",
        "Hacker News",
        "Organic Social",
    ]


def test_a_website_named_by_an_item_does_not_replace_the_envelopes() -> None:
    assert facts({"name": "x", "websiteId": "other"}, "website_id") == ("w1",)
