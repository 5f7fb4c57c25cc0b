"""UTM parameters and click ids, by golden cases."""

from typing import Any

import pytest

from tests.stream.enrich.enriched_rows import case_facts, facts
from tests.stream.enrich.golden_cases import cases

VIEW = {"name": "screen_view"}
COLUMNS = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "click_id")


@pytest.mark.parametrize("case", cases("campaign"))
def test_a_campaign_is_what_the_item_or_the_url_says(case: dict[str, Any]) -> None:
    assert case_facts(case, *COLUMNS) == case["row"]


def test_a_campaign_behind_a_long_path_and_query_is_read() -> None:
    page = "https://a.example/" + "p" * 3000 + "?q=" + "x" * 3000 + "&utm_source=news"

    columns = ("path", "utm_source")
    assert facts(VIEW | {"path": page}, *columns) == ("/" + "p" * 2047, "news")
    assert facts(VIEW | {"properties": {"path": page}}, *columns) == ("/" + "p" * 2047, "news")


@pytest.mark.parametrize(
    ("item", "click_id"),
    [
        ({"path": "https://a.example/?fbclid=x"}, "fbclid"),
        ({"path": "https://a.example/?fbclid=x", "clickId": "gclid"}, "gclid"),
        ({"path": "https://a.example/", "clickId": "gclid"}, "gclid"),
    ],
)
def test_a_click_id_that_the_tracker_names_comes_first(item: dict[str, Any], click_id: str) -> None:
    assert facts(VIEW | item, "click_id") == (click_id,)


def test_a_source_without_utm_is_the_first_of_source_ref_and_via() -> None:
    page = "https://shop.example/?"
    expected = {
        "ref=producthunt": "producthunt",
        "ref=producthunt.com": "producthunt.com",
        "ref=https://news.ycombinator.com/": "https://news.ycombinator.com/",
        "via=Weekly%20Newsletter": "Weekly Newsletter",
        "via=a&ref=b&source=c": "c",
        "via=a&ref=b": "b",
        "source=news-2026": "news-2026",
        "ref=hn&utm_source=mail": "mail",
        "ref=hn&utm_medium=email": None,
        "ref=hn&gclid=1": "hn",
        "ref=12345": None,
        "source=42&ref=hn": "hn",
        "ref=a8f3b2c9": None,
        "ref=%2Fcart": None,
        f"ref={'a' * 65}": None,
    }

    found = {query: facts(VIEW | {"path": page + query}, "utm_source")[0] for query in expected}

    assert found == expected


def test_the_channel_of_a_ref_is_that_of_the_source_it_names() -> None:
    pages = (
        "/?ref=producthunt",
        "/?ref=newsletter",
        "/?via=chatgpt.com",
        "/?ref=agency",
        "/?ref=7",
    )

    channels = [facts(VIEW | {"path": page}, "channel")[0] for page in pages]

    assert channels == ["Organic Social", "Email", "AI Assistant", "Campaign", "Direct"]
