"""The referrer, its name and its type, by golden cases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.enrich.rules.referrer_list import (
    DIRECT,
)
from stream.enrich.steps.referrer import parse_referrer
from tests.stream.enrich.enriched_rows import case_facts
from tests.stream.enrich.golden_cases import cases

ADDRESSES = st.one_of(
    st.text(max_size=40),
    st.builds("{}://{}/{}".format, *[st.text(max_size=12)] * 3),
    st.builds("https://{}{}#{}".format, *[st.text(max_size=12)] * 3),
)
COLUMNS = ("referrer", "referrer_name", "referrer_type")


@pytest.mark.parametrize("case", cases("referrer"))
def test_a_referrer_is_a_source_with_a_name(case: dict[str, Any]) -> None:
    assert case_facts(case, *COLUMNS) == case["row"]


@given(ADDRESSES)
def test_any_address_is_a_referrer_with_a_name(address: str) -> None:
    referrer = parse_referrer(address)

    assert (referrer.url == DIRECT) == (not referrer.host)
    assert referrer.name
    assert "?" not in referrer.url
    assert "#" not in referrer.url
