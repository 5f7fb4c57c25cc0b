"""Outbound clicks, by golden cases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.enrich.rules.urls import host_of
from stream.enrich.steps.outbound_link import target_domain
from tests.stream.enrich.enriched_rows import case_facts
from tests.stream.enrich.golden_cases import cases

ADDRESSES = st.one_of(
    st.text(max_size=40),
    st.builds("{}://{}/{}".format, *[st.text(max_size=12)] * 3),
    st.builds("https://{}{}#{}".format, *[st.text(max_size=12)] * 3),
)
COLUMNS = ("href", "link_text", "outbound_domain")


@pytest.mark.parametrize("case", cases("outbound_link"))
def test_an_outbound_click_leads_somewhere(case: dict[str, Any]) -> None:
    assert case_facts(case, *COLUMNS) == case["row"]


@given(ADDRESSES)
def test_any_address_leads_to_a_host_a_scheme_or_nowhere(address: str) -> None:
    domain = target_domain(address)

    assert domain is None or domain.endswith(":") or domain == host_of(domain)
