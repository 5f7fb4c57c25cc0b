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
