"""Golden cases of page, referrer, campaign, channel and outbound click: each fact, whole.

A case says where the visitor was (`page`), came from (`referrer`), and what else was sent (`item`,
`headers`, `trusted`); `domain` is the website's in the registry. Of the step's columns, those that
`row` does not name are NULL.
"""

from typing import Any

import pytest

from stream.enrich.rules.lookups import Lookups
from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.golden_cases import cases

COLUMNS = {
    "page": ("host", "path", "title"),
    "referrer": ("referrer", "referrer_name", "referrer_type"),
    "campaign": (
        *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
        "click_id",
    ),
    "channel": ("channel",),
    "outbound": ("href", "link_text", "outbound_domain"),
}


def found(step: str, case: dict[str, Any]) -> dict[str, Any]:
    """The columns of a step, but for those that are NULL."""
    item = {"name": "screen_view", "path": case.get("page"), "referrer": case.get("referrer")}
    columns = facts(
        item | case.get("item", {}),
        *COLUMNS[step],
        lookups=Lookups(domain_of=lambda website: case.get("domain")),
        headers=case.get("headers", {}),
        trusted=case.get("trusted", False),
    )
    return {
        name: value for name, value in zip(COLUMNS[step], columns, strict=True) if value is not None
    }


@pytest.mark.parametrize("case", cases("page"))
def test_a_page_is_what_its_url_says(case: dict[str, Any]) -> None:
    assert found("page", case) == case["row"]


@pytest.mark.parametrize("case", cases("referrer"))
def test_a_referrer_is_a_place_with_a_name(case: dict[str, Any]) -> None:
    assert found("referrer", case) == case["row"]


@pytest.mark.parametrize("case", cases("campaign"))
def test_a_campaign_is_what_the_item_or_the_url_says(case: dict[str, Any]) -> None:
    assert found("campaign", case) == case["row"]


@pytest.mark.parametrize("case", cases("channel"))
def test_the_first_rule_that_fits_names_the_channel(case: dict[str, Any]) -> None:
    assert found("channel", case) == {"channel": case["channel"]}


@pytest.mark.parametrize("case", cases("outbound_link"))
def test_an_outbound_click_leads_somewhere(case: dict[str, Any]) -> None:
    assert found("outbound", case) == case["row"]
