"""The marketing channel, by golden cases."""

from typing import Any

import pytest

from tests.stream.enrich.enriched_rows import case_facts
from tests.stream.enrich.golden_cases import cases


@pytest.mark.parametrize("case", cases("channel"))
def test_the_first_rule_that_matches_names_the_channel(case: dict[str, Any]) -> None:
    assert case_facts(case, "channel") == {"channel": case["channel"]}
