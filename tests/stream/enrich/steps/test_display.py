"""What a browser says of its surroundings, in one spelling."""

from typing import Any

import pytest

from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.golden_cases import cases

COLUMNS = ("language", "timezone", "screen_resolution", "viewport_size", "connection_type")


@pytest.mark.parametrize("case", cases("display"))
def test_what_a_browser_says_is_kept_in_one_spelling(case: dict[str, Any]) -> None:
    item = {"name": "screen_view", **{n: case[n] for n in COLUMNS if n in case}}
    headers = {"accept-language": case["accepts"]} if "accepts" in case else {}

    found = facts(item, *COLUMNS, headers=headers, trusted=case.get("key", False))

    assert [expected or "" for expected in found] == case["is"]
